"""Builds castnet for another machine: the libraries that it is made of come from Debian's archive of that architecture, unpacked
into a folder of our own, so that neither root nor a foreign architecture in dpkg is needed."""
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ("libnanopb-dev", "libjansson-dev", "libxxhash-dev")
CROSS_FILE = """[constants]
root = '{root}'
[binaries]
c = '{triplet}-gcc'
ar = '{triplet}-ar'
strip = '{triplet}-strip'
pkgconfig = 'pkg-config'
exe_wrapper = 'qemu-{machine}'
[properties]
sys_root = root
pkg_config_libdir = root + '/usr/lib/{triplet}/pkgconfig'
[built-in options]
c_args = ['-isystem', root + '/usr/include']
c_link_args = ['-static', '-L' + root + '/usr/lib/{triplet}']
[host_machine]
system = 'linux'
cpu_family = '{machine}'
cpu = '{machine}'
endian = '{endian}'
"""


def run(*command, cwd=None):
    """Run a command; raise RuntimeError with the end of what it printed."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stdout.strip()[-600:]}")


def unpack_libraries(machine, folder):
    """The static libraries and headers of a Debian architecture, under folder/root."""
    root, apt = folder / "root", folder / "apt"
    if (root / "complete").exists():
        return root
    for name in ("state/lists/partial", "cache/archives/partial"):
        (apt / name).mkdir(parents=True, exist_ok=True)
    (apt / "status").write_text("")
    options = {"APT::Architecture": machine, "APT::Architectures": machine, "Dir::State": apt / "state",
               "Dir::State::status": apt / "status", "Dir::Cache": apt / "cache"}
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    run("apt-get", *words, "-qq", "update")
    run("apt-get", *words, "-qq", "download", *LIBRARIES, cwd=apt)
    for package in apt.glob("*.deb"):
        run("dpkg-deb", "-x", package, root)
    shutil.rmtree(apt)
    (root / "complete").touch()
    return root


def build(machine, endian, folder):
    """castnet for a machine, statically linked, as words of a command that runs it; RuntimeError where it cannot be made."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    missing = [tool for tool in (f"{machine}-linux-gnu-gcc", f"qemu-{machine}", "apt-get") if not shutil.which(tool)]
    if missing:
        raise RuntimeError(f"not installed: {' '.join(missing)}")
    root = unpack_libraries(machine, folder)
    cross_file = folder / "cross.ini"
    cross_file.write_text(CROSS_FILE.format(root=root, triplet=f"{machine}-linux-gnu", machine=machine, endian=endian))
    if not (folder / "build/build.ninja").exists():
        shutil.rmtree(folder / "build", ignore_errors=True)
        run("meson", "setup", folder / "build", "--cross-file", cross_file, cwd=ROOT)
    run("ninja", "-C", folder / "build", "-j", "2", "compiler/castnet")
    return [f"qemu-{machine}", str(folder / "build/compiler/castnet")]

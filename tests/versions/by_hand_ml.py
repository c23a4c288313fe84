"""Cases of ai.onnx.ml written out: no official one exists for most of its operators. ONNX Runtime is the oracle."""
import numpy as np
from onnx import TensorProto, helper

from by_hand import Case, floats, shows

ML = "ai.onnx.ml"
NUMBERS = (np.float32, np.float64, np.int64, np.int32)
WORDS = np.array([["red", "green"], ["blue", "no such"]], dtype=object)


def strings(*values):
    return np.array(values, dtype=object)


@shows("Scaler", 1, domain=ML)
def scaler(version, op):
    for dtype in NUMBERS:
        x = (floats(4, 3) * 5).astype(dtype)
        yield Case([x], {"offset": [0.5, -1.0, 2.0], "scale": [2.0, 0.25, -1.0]}, None, f"each_{np.dtype(dtype).name}")
    yield Case([floats(2, 3)], {"offset": [0.5], "scale": [3.0]}, None, "one")


@shows("Imputer", 1, domain=ML)
def imputer(version, op):
    x = floats(4, 3)
    x[1, 2] = x[3, 0] = -9
    yield Case([x], {"imputed_value_floats": [0.5], "replaced_value_float": -9.0}, None, "one")
    yield Case([x], {"imputed_value_floats": [0.5, 1.5, 2.5], "replaced_value_float": -9.0}, None, "each")
    x[2, 1] = np.nan
    yield Case([x], {"imputed_value_floats": [0.5, 1.5, 2.5], "replaced_value_float": float("nan")}, None, "nan")
    n = np.array([[1, 2, 3], [7, 7, 5]], np.int64)
    yield Case([n], {"imputed_value_int64s": [10, 20, 30], "replaced_value_int64": 7}, None, "int64")


@shows("Normalizer", 1, domain=ML)
def normalizer(version, op):
    for norm in ("MAX", "L1", "L2"):
        x = np.abs(floats(4, 3))
        x[2] = 0
        yield Case([x], {"norm": norm}, None, norm.lower())
        yield Case([np.array([[1, 2, 4], [3, 0, 5]], np.int64)], {"norm": norm}, None, f"{norm.lower()}_int64")


@shows("FeatureVectorizer", 1, domain=ML)
def feature_vectorizer(version, op):
    yield Case([floats(3, 2), floats(3, 4, seed=2)], {"inputdimensions": [2, 4]}, None, "floats")
    n = np.array([[1, 2], [3, 4]], np.int64)
    yield Case([n, n], {"inputdimensions": [2, 2]}, None, "int64")


@shows("LinearRegressor", 1, domain=ML)
def linear_regressor(version, op):
    x = floats(4, 3)
    yield Case([x], {"coefficients": [0.5, -1.0, 2.0]}, None, "one_target")
    yield Case([x], {"coefficients": [0.5, -1.0, 2.0, 1.0, 1.5, 0.25], "intercepts": [0.5, -0.5], "targets": 2}, None, "two_targets")
    for post in ("SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        yield Case([x], {"coefficients": [0.5, -1.0, 2.0, 1.0, 1.5, 0.25], "targets": 2, "post_transform": post}, None, post.lower())


@shows("LinearClassifier", 1, domain=ML)
def linear_classifier(version, op):
    weights = {"coefficients": [0.5, -1.0, 2.0, 1.0, 1.5, 0.25, -1.0, 0.5, -0.5], "intercepts": [0.5, -0.5, 0.25]}
    for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        yield Case([floats(5, 3)], {**weights, "classlabels_ints": [3, 5, 9], "post_transform": post}, None, f"int_{post.lower()}")
    yield Case([floats(5, 3)], {**weights, "classlabels_strings": ["a", "b", "c"]}, None, "strings")
    yield Case([floats(5, 3)], {"coefficients": [0.5, -1.0, 2.0, -0.5, 1.0, -2.0], "intercepts": [0.1, -0.1], "classlabels_ints": [0, 1],
                                "post_transform": "LOGISTIC"}, None, "binary")


def kernel(kind):
    return {"kernel_type": kind, "kernel_params": [0.5, 0.25, 3.0]}


@shows("SVMRegressor", 1, domain=ML)
def svm_regressor(version, op):
    support = floats(4, 3, seed=2)
    for kind in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        yield Case([floats(5, 3)], {**kernel(kind), "support_vectors": support.ravel().tolist(), "n_supports": 4,
                                    "coefficients": [0.5, -1.0, 0.75, 0.25], "rho": [0.125]}, None, kind.lower())
    yield Case([floats(5, 3)], {**kernel("RBF"), "support_vectors": support.ravel().tolist(), "n_supports": 4, "one_class": 1,
                                "coefficients": [0.5, -1.0, 0.75, 0.25], "rho": [0.125]}, None, "one_class")
    yield Case([floats(5, 3)], {**kernel("LINEAR"), "coefficients": [0.5, -1.0, 0.75], "rho": [0.125]}, None, "no_vectors")


@shows("SVMClassifier", 1, domain=ML)
def svm_classifier(version, op):
    """Three classes with 2, 1 and 2 support vectors: two rows of coefficients, three pairs of classes."""
    machine = {"support_vectors": floats(5, 3, seed=2).ravel().tolist(), "vectors_per_class": [2, 1, 2],
               "coefficients": floats(10, seed=3).tolist(), "rho": [0.125, -0.25, 0.5]}
    probabilities = {"prob_a": [-1.0, -0.5, -2.0], "prob_b": [0.1, -0.1, 0.2]}
    for kind in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        yield Case([floats(6, 3)], {**machine, **kernel(kind), "classlabels_ints": [1, 4, 7]}, None, f"votes_{kind.lower()}")
    yield Case([floats(6, 3)], {**machine, **probabilities, **kernel("RBF"), "classlabels_ints": [1, 4, 7]}, None, "probabilities")
    yield Case([floats(6, 3)], {**machine, **probabilities, **kernel("RBF"), "classlabels_strings": ["a", "b", "c"]}, None, "strings")
    two = {"support_vectors": floats(4, 3, seed=4).ravel().tolist(), "vectors_per_class": [2, 2], "coefficients": [0.5, 0.25, -1.0, -0.5],
           "rho": [0.1], "classlabels_ints": [0, 1], **kernel("RBF")}
    yield Case([floats(6, 3)], two, None, "two_classes")
    yield Case([floats(6, 3)], {**two, "prob_a": [-1.5], "prob_b": [0.1]}, None, "two_classes_probabilities")


def trees(version, kind):
    """Two trees over three features; leaves of three targets or classes. The second tree names them all in each leaf: oracles
    disagree about those that no leaf named."""
    nodes = {"nodes_treeids": [0] * 5 + [1] * 3, "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
             "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
             "nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
             "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
             "nodes_missing_value_tracks_true": [0, 1, 0, 0, 0, 0, 0, 0]}
    part = "class" if kind == "classes" else "target"
    leaves = {f"{part}_treeids": [0] * 3 + [1] * 6, f"{part}_nodeids": [2, 3, 4, 1, 1, 1, 2, 2, 2], f"{part}_ids": [0, 1, 2] * 3}
    values, weights = [0.25, -0.5, 0, 0, 0, 0.5, 0, 0], [1.5, -0.5, 0.75, 0.25, 0.5, 1.75, 2.0, -0.75, -1.0]
    if version >= 3 and kind == "doubles":
        as_tensor = {"nodes_values_as_tensor": values, f"{part}_weights_as_tensor": weights}
        return nodes | leaves | {k: helper.make_tensor(k, TensorProto.DOUBLE, [len(v)], v) for k, v in as_tensor.items()}
    return nodes | leaves | {"nodes_values": [float(v) for v in values], f"{part}_weights": weights}


def inputs_for_trees():
    x = floats(8, 3)
    x[5, 1] = np.nan
    return x


@shows("TreeEnsembleRegressor", 1, 3, 5, domain=ML)
def tree_regressor(version, op):
    x = inputs_for_trees()
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        yield Case([x], {**trees(version, "targets"), "n_targets": 3, "aggregate_function": aggregate}, None, aggregate.lower())
    yield Case([x], {**trees(version, "targets"), "n_targets": 3, "base_values": [0.5, 1.0, -1.0]}, None, "base_values")
    if version >= 3:
        yield Case([x.astype(np.float64)], {**trees(version, "doubles"), "n_targets": 3}, None, "doubles")


@shows("TreeEnsembleClassifier", 1, 3, 5, domain=ML)
def tree_classifier(version, op):
    x = inputs_for_trees()
    for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        yield Case([x], {**trees(version, "classes"), "classlabels_int64s": [2, 4, 8], "post_transform": post}, None, post.lower())
    yield Case([x], {**trees(version, "classes"), "classlabels_strings": ["a", "b", "c"]}, None, "strings")


# ---- text and maps ----
@shows("LabelEncoder", 1, domain=ML)
def label_encoder_1(version, op):
    yield Case([WORDS], {"classes_strings": ["red", "blue", "green"]}, None, "to_numbers")
    yield Case([np.array([0, 2, 1, 5], np.int64)], {"classes_strings": ["red", "blue", "green"], "default_string": "?"}, None, "to_strings")


@shows("LabelEncoder", 2, domain=ML)
def label_encoder_2(version, op):
    yield Case([WORDS], {"keys_strings": ["red", "blue"], "values_int64s": [5, 6], "default_int64": -3}, None, "string_int64")
    yield Case([np.array([1, 2, 3], np.int64)], {"keys_int64s": [1, 3], "values_floats": [0.5, 0.25], "default_float": -1.0}, None, "int64_float")
    yield Case([np.array([1, 2.5, -4], np.float32)], {"keys_floats": [2.5, -4.0], "values_strings": ["x", "y"]}, None, "float_string")


@shows("CategoryMapper", 1, domain=ML)
def category_mapper(version, op):
    table = {"cats_strings": ["red", "blue"], "cats_int64s": [7, 9]}
    yield Case([WORDS], {**table, "default_int64": -1}, None, "to_numbers")
    yield Case([np.array([[7, 8], [9, 7]], np.int64)], {**table, "default_string": "none"}, None, "to_strings")


@shows("OneHotEncoder", 1, domain=ML)
def one_hot_encoder(version, op):
    x = np.array([[1, 5], [4, 2]], np.int64)
    for dtype in NUMBERS:
        y = (x[..., None] == np.array([1, 2, 4])).astype(np.float32)
        yield Case([x.astype(dtype)], {"cats_int64s": [1, 2, 4]}, [y], np.dtype(dtype).name)
    yield Case([WORDS], {"cats_strings": ["red", "blue", "green"]}, None, "strings")


def map_type(key, value):
    return helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, []))


def tensor_type(kind, shape):
    return helper.make_tensor_type_proto(kind, shape)


@shows("CastMap", 1, domain=ML)
def cast_map(version, op):
    floats_in = (map_type(TensorProto.INT64, TensorProto.FLOAT),)
    values = {1: np.float32(0.5), 4: np.float32(-2.0), 6: np.float32(8.0)}
    yield Case([values], {"cast_to": "TO_FLOAT"}, None, "dense", types=(floats_in, (tensor_type(TensorProto.FLOAT, [1, 3]),)))
    yield Case([values], {"cast_to": "TO_INT64", "map_form": "SPARSE", "max_map": 8}, None, "sparse",
               types=(floats_in, (tensor_type(TensorProto.INT64, [1, 8]),)))


@shows("DictVectorizer", 1, domain=ML)
def dict_vectorizer(version, op):
    """The text says a vector; ONNX Runtime makes a matrix of one row."""
    values = {"b": np.float32(0.5), "a": np.float32(2.0)}
    yield Case([values], {"string_vocabulary": ["a", "c", "b", "z"]}, [np.array([2, 0, 0.5, 0], np.float32)], "strings",
               types=((map_type(TensorProto.STRING, TensorProto.FLOAT),), (tensor_type(TensorProto.FLOAT, [4]),)))
    yield Case([{3: np.float32(1.5)}], {"int64_vocabulary": [1, 3, 5]}, [np.array([0, 1.5, 0], np.float32)], "int64",
               types=((map_type(TensorProto.INT64, TensorProto.FLOAT),), (tensor_type(TensorProto.FLOAT, [3]),)))


@shows("ZipMap", 1, domain=ML)
def zip_map(version, op):
    x = floats(2, 3)
    rows = [{k: v for k, v in zip((10, 20, 30), row)} for row in x]
    yield Case([x], {"classlabels_int64s": [10, 20, 30]}, [rows], "int64",
               types=((tensor_type(TensorProto.FLOAT, [2, 3]),), (helper.make_sequence_type_proto(map_type(TensorProto.INT64, TensorProto.FLOAT)),)))
    rows = [{k: v for k, v in zip("abc", row)} for row in x]
    yield Case([x], {"classlabels_strings": ["a", "b", "c"]}, [rows], "strings",
               types=((tensor_type(TensorProto.FLOAT, [2, 3]),), (helper.make_sequence_type_proto(map_type(TensorProto.STRING, TensorProto.FLOAT)),)))

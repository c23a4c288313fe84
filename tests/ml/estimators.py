"""The estimators: [(name, a function that makes one, what it is trained on)]. Parameters are small: what is shown is the operators
that converters emit, not the quality of a model."""
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn import (cross_decomposition, decomposition, discriminant_analysis, ensemble, feature_selection, gaussian_process, kernel_approximation,
                     linear_model, mixture, multiclass, naive_bayes, neighbors, neural_network, pipeline, preprocessing, random_projection, svm, tree)
from sklearn import cluster, impute
from xgboost import XGBClassifier, XGBRegressor

REGRESSION, POSITIVE, BINARY, CLASSES, WORDS, COUNTS, TABLE, HOLES, CATEGORIES = (
    "regression", "positive", "binary", "classes", "words", "counts", "table", "holes", "categories")


def rows(target, *makers):
    return [(maker.__name__ if isinstance(maker, type) else maker[0], maker if isinstance(maker, type) else maker[1], target) for maker in makers]


L, E, P = linear_model, ensemble, preprocessing
SEED = {"random_state": 0}

REGRESSORS = rows(
    REGRESSION, L.LinearRegression, L.Ridge, L.Lasso, L.ElasticNet, L.BayesianRidge, L.ARDRegression, L.HuberRegressor, L.Lars, L.LassoLars,
    L.OrthogonalMatchingPursuit, L.TheilSenRegressor, L.RidgeCV, L.LassoCV, ("SGDRegressor", lambda: L.SGDRegressor(**SEED)),
    ("QuantileRegressor", lambda: L.QuantileRegressor(quantile=0.7)), ("RANSACRegressor", lambda: L.RANSACRegressor(**SEED)),
    svm.SVR, svm.NuSVR, ("LinearSVR", lambda: svm.LinearSVR(**SEED)), ("SVR_poly", lambda: svm.SVR(kernel="poly")),
    ("SVR_sigmoid", lambda: svm.SVR(kernel="sigmoid")), ("SVR_linear", lambda: svm.SVR(kernel="linear")),
    ("DecisionTreeRegressor", lambda: tree.DecisionTreeRegressor(max_depth=5, **SEED)), ("ExtraTreeRegressor", lambda: tree.ExtraTreeRegressor(max_depth=5, **SEED)),
    ("RandomForestRegressor", lambda: E.RandomForestRegressor(12, max_depth=5, **SEED)), ("ExtraTreesRegressor", lambda: E.ExtraTreesRegressor(12, max_depth=5, **SEED)),
    ("GradientBoostingRegressor", lambda: E.GradientBoostingRegressor(n_estimators=12, **SEED)),
    ("HistGradientBoostingRegressor", lambda: E.HistGradientBoostingRegressor(max_iter=12, **SEED)),
    ("AdaBoostRegressor", lambda: E.AdaBoostRegressor(n_estimators=6, **SEED)), ("BaggingRegressor", lambda: E.BaggingRegressor(n_estimators=5, **SEED)),
    ("VotingRegressor", lambda: E.VotingRegressor([("a", L.LinearRegression()), ("b", tree.DecisionTreeRegressor(max_depth=3, **SEED))])),
    ("StackingRegressor", lambda: E.StackingRegressor([("a", L.LinearRegression()), ("b", L.Ridge())])),
    ("KNeighborsRegressor", lambda: neighbors.KNeighborsRegressor(3)), ("KNeighborsRegressor_weighted", lambda: neighbors.KNeighborsRegressor(4, weights="distance")),
    ("MLPRegressor", lambda: neural_network.MLPRegressor(hidden_layer_sizes=(8, 5), max_iter=50, **SEED)), ("GaussianProcessRegressor", lambda: gaussian_process.GaussianProcessRegressor(alpha=0.5)),
    ("PLSRegression", lambda: cross_decomposition.PLSRegression(2)),
    ("pipeline_polynomial", lambda: pipeline.make_pipeline(P.PolynomialFeatures(2), L.LinearRegression())),
    ("pipeline_pca", lambda: pipeline.make_pipeline(P.StandardScaler(), decomposition.PCA(3), L.Ridge())),
    ("XGBRegressor", lambda: XGBRegressor(n_estimators=12, max_depth=4)), ("LGBMRegressor", lambda: LGBMRegressor(n_estimators=12, verbose=-1)),
    ("XGBRegressor_linear", lambda: XGBRegressor(n_estimators=6, booster="gblinear")),
) + rows(POSITIVE, L.PoissonRegressor, L.GammaRegressor, L.TweedieRegressor, ("XGBRegressor_poisson", lambda: XGBRegressor(n_estimators=8, objective="count:poisson")))

KINDS = (("LogisticRegression", L.LogisticRegression), ("SGDClassifier_log", lambda: L.SGDClassifier(loss="log_loss", **SEED)),
         ("SVC_probability", lambda: svm.SVC(probability=True, **SEED)), ("SVC_poly", lambda: svm.SVC(kernel="poly", probability=True, **SEED)),
         ("NuSVC", lambda: svm.NuSVC(nu=0.3, probability=True, **SEED)),
         ("DecisionTreeClassifier", lambda: tree.DecisionTreeClassifier(max_depth=4, **SEED)), ("ExtraTreeClassifier", lambda: tree.ExtraTreeClassifier(max_depth=4, **SEED)),
         ("RandomForestClassifier", lambda: E.RandomForestClassifier(12, max_depth=4, **SEED)), ("ExtraTreesClassifier", lambda: E.ExtraTreesClassifier(12, max_depth=4, **SEED)),
         ("GradientBoostingClassifier", lambda: E.GradientBoostingClassifier(n_estimators=8, **SEED)),
         ("HistGradientBoostingClassifier", lambda: E.HistGradientBoostingClassifier(max_iter=8, **SEED)),
         ("AdaBoostClassifier", lambda: E.AdaBoostClassifier(n_estimators=6, **SEED)), ("BaggingClassifier", lambda: E.BaggingClassifier(n_estimators=5, **SEED)),
         ("VotingClassifier", lambda: E.VotingClassifier([("a", L.LogisticRegression()), ("b", naive_bayes.GaussianNB())], voting="soft", flatten_transform=False)),
         ("KNeighborsClassifier", lambda: neighbors.KNeighborsClassifier(5)), ("GaussianNB", naive_bayes.GaussianNB),
         ("LinearDiscriminantAnalysis", discriminant_analysis.LinearDiscriminantAnalysis),
         ("QuadraticDiscriminantAnalysis", discriminant_analysis.QuadraticDiscriminantAnalysis),
         ("MLPClassifier", lambda: neural_network.MLPClassifier((8,), max_iter=50, **SEED)),
         ("OneVsRest", lambda: multiclass.OneVsRestClassifier(L.LogisticRegression())),
         ("pipeline_scaler", lambda: pipeline.make_pipeline(P.MinMaxScaler(), L.LogisticRegression())),
         ("XGBClassifier", lambda: XGBClassifier(n_estimators=8, max_depth=3)), ("LGBMClassifier", lambda: LGBMClassifier(n_estimators=8, verbose=-1)))
CLASSIFIERS = [(f"{name}_{target}", maker, target) for name, maker in KINDS for target in (BINARY, CLASSES)] + [
    (f"{name}_words", maker, WORDS) for name, maker in KINDS if name in ("LogisticRegression", "RandomForestClassifier", "SVC_probability", "GaussianNB", "KNeighborsClassifier")
] + rows(COUNTS, naive_bayes.MultinomialNB, naive_bayes.BernoulliNB, naive_bayes.ComplementNB)

TRANSFORMERS = rows(
    TABLE, P.StandardScaler, P.MinMaxScaler, P.MaxAbsScaler, P.RobustScaler, P.Normalizer, P.Binarizer, P.PowerTransformer,
    ("Normalizer_l1", lambda: P.Normalizer("l1")), ("PolynomialFeatures", lambda: P.PolynomialFeatures(3)), ("KBinsDiscretizer", lambda: P.KBinsDiscretizer(4, encode="onehot-dense")),
    ("PCA", lambda: decomposition.PCA(3)), ("TruncatedSVD", lambda: decomposition.TruncatedSVD(3, **SEED)), ("IncrementalPCA", lambda: decomposition.IncrementalPCA(3)),
    ("FactorAnalysis", lambda: decomposition.FactorAnalysis(2)), ("KernelPCA", lambda: decomposition.KernelPCA(3, kernel="rbf")),
    ("FastICA", lambda: decomposition.FastICA(3, **SEED)), ("VarianceThreshold", lambda: feature_selection.VarianceThreshold(0.5)),
    ("GaussianRandomProjection", lambda: random_projection.GaussianRandomProjection(3, **SEED)),
    ("Nystroem", lambda: kernel_approximation.Nystroem(n_components=5, **SEED)), ("SplineTransformer", lambda: P.SplineTransformer(n_knots=4)),
    ("KMeans", lambda: cluster.KMeans(3, n_init=2, **SEED)),
) + rows(HOLES, impute.SimpleImputer, ("SimpleImputer_median", lambda: impute.SimpleImputer(strategy="median")), ("KNNImputer", lambda: impute.KNNImputer(n_neighbors=2))) + rows(
    CATEGORIES, ("OneHotEncoder", lambda: P.OneHotEncoder(sparse_output=False, handle_unknown="ignore")), ("OrdinalEncoder", P.OrdinalEncoder))
MIXTURES = rows(TABLE, ("GaussianMixture", lambda: mixture.GaussianMixture(3, **SEED)), ("IsolationForest", lambda: E.IsolationForest(n_estimators=8, **SEED)),
                ("OneClassSVM", svm.OneClassSVM))

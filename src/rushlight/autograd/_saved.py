"""``node._saved_self`` and its like: the tensors that a node keeps for its backward, by PyTorch's names."""

from __future__ import annotations

from .. import _C

# What nodes keep, in the order in which they keep it: "-" is what PyTorch keeps nothing of. Written out, since names
# are PyTorch's own.
_KEPT = {
    "self": """
        AbsBackward0 AcosBackward0 AcoshBackward0 AsinBackward0 AsinhBackward0 AtanBackward0 AtanhBackward0
        CeluBackward0 ClampBackward1 ClampMaxBackward0 ClampMinBackward0 CopysignBackward0 CopysignBackward1
        CosBackward0 CoshBackward0 DigammaBackward0 EluBackward0 ErfBackward0 ErfcBackward0
        GeluBackward0 GluBackward0 HardshrinkBackward0 HardsigmoidBackward0 HardswishBackward0
        HardtanhBackward0 I0Backward0 LeakyReluBackward0 LgammaBackward0 LinalgMatrixExpBackward0
        Log10Backward0 Log1PBackward0 Log2Backward0 LogBackward0 LogSigmoidBackward0 LogitBackward0
        MishBackward0 MvlgammaBackward0 NanToNumBackward0 NansumBackward0 PolygammaBackward0 PowBackward0
        RenormBackward0 SiluBackward0 SinBackward0 SincBackward0 SinhBackward0 SoftplusBackward0
        SoftshrinkBackward0 SpecialEntrBackward0 SpecialErfcxBackward0 SpecialI0EBackward0
        SpecialI1Backward0 SpecialI1EBackward0 SpecialLogNdtrBackward0 ThresholdBackward0 VarBackward0
        VarMeanBackward0
    """,
    "indices": """
        CummaxBackward0 CumminBackward0 EmbeddingBackward0 EmbeddingBagBackward0
        MaxBackward0 MaxUnpool2DBackward0 MaxUnpool3DBackward0 MinBackward0 ModeBackward0
        NanmedianBackward1 SortBackward0 SortBackward1 TopkBackward0
    """,
    "result": """
        CholeskyBackward0 Exp2Backward0 ExpBackward0 Expm1Backward0 LogSoftmaxBackward0 ReciprocalBackward0
        ReluBackward0 RsqrtBackward0 SigmoidBackward0 SoftmaxBackward0 SpecialNdtriBackward0 SqrtBackward0
        TanBackward0 TanhBackward0
    """,
    "index": """
        GatherBackward0 IndexAddBackward0 IndexCopyBackward0 IndexFillBackward0 IndexFillBackward1
        IndexSelectBackward0 PutBackward0 ScatterAddBackward0 ScatterBackward0 ScatterBackward1
        TakeBackward0
    """,
    "result1": """
        AdaptiveMaxPool2DBackward0 AdaptiveMaxPool3DBackward0 MaxPool2DWithIndicesBackward0
        MaxPool3DWithIndicesBackward0
    """,
    "mask": """
        MaskedFillBackward0 MaskedFillBackward1 MaskedScatterBackward0 MaskedSelectBackward0
    """,
    "target": """
        NllLoss2DBackward0 NllLossBackward0
    """,
    "L": """
        LinalgCholeskyExBackward0
    """,
    "inverse": """
        LinalgInvExBackward0
    """,
    "A": """
        LinalgSlogdetBackward0
    """,
    "exponent": """
        PowBackward2
    """,
    "condition": """
        WhereBackward0
    """,
    "self other": """
        Atan2Backward0 DivBackward0 DivBackward2 FmaxBackward0 FminBackward0 FmodBackward1 HypotBackward0
        LinalgCrossBackward0 Logaddexp2Backward0 LogaddexpBackward0 MaximumBackward0 MinimumBackward0
        MulBackward0 RemainderBackward1 SpecialXlog1PyBackward0 VdotBackward0
        XlogyBackward0
    """,
    "self result": """
        AmaxBackward0 AminBackward0 CholeskyInverseBackward0 CumprodBackward0 LinalgSolveTriangularBackward0
        LinalgVectorNormBackward0 LogcumsumexpBackward0 LogsumexpBackward0 MaxBackward1 MedianBackward0
        MinBackward1 NormBackward1 PdistBackward0 ProdBackward0 ProdBackward1 StdBackward0
    """,
    "input weight": """
        ConvolutionBackward0 NativeBatchNormBackward0 NativeGroupNormBackward0 NativeLayerNormBackward0
    """,
    "self target": """
        MseLossBackward0 MultilabelMarginLossBackward0 SoftMarginLossBackward0
    """,
    "batch1 batch2": """
        AddbmmBackward0 BaddbmmBackward0
    """,
    "self mat2": """
        BmmBackward0
    """,
    "self -": """
        MmBackward0
    """,
    "input grid": """
        GridSampler2DBackward0 GridSampler3DBackward0
    """,
    "A result": """
        LinalgDetBackward0 LinalgSolveExBackward0
    """,
    "mat1 -": """
        AddmmBackward0
    """,
    "mat vec": """
        AddmvBackward0
    """,
    "vec1 vec2": """
        AddrBackward0
    """,
    "input2 result": """
        CholeskySolveBackward0
    """,
    "self max": """
        ClampMaxBackward1
    """,
    "self min": """
        ClampMinBackward1
    """,
    "log_probs targets": """
        CtcLossBackward0
    """,
    "self tensor": """
        DotBackward0
    """,
    "eigenvalues eigenvectors": """
        LinalgEighBackward0
    """,
    "Q R": """
        LinalgQrBackward0
    """,
    "self vec": """
        MvBackward0
    """,
    "self exponent": """
        PowBackward1
    """,
    "self weight": """
        PreluKernelBackward0
    """,
    "self result0": """
        StdMeanBackward0
    """,
    "- tensor1 tensor2": """
        AddcdivBackward0 AddcmulBackward0
    """,
    "self min max": """
        AminmaxBackward0 ClampBackward0
    """,
    "- - result": """
        CdistBackward0
    """,
    "self other result": """
        DistBackward0
    """,
    "self end weight": """
        LerpBackward1
    """,
    "P L U": """
        LinalgLuBackward0
    """,
    "U S Vh": """
        LinalgSvdBackward0
    """,
    "self target weight": """
        MultiMarginLossBackward0
    """,
}
_NAMES = {node: names.split() for names, nodes in _KEPT.items() for node in nodes.split()}

# Each of a product's two factors is kept only where the other needs a gradient; the number of the first among inputs.
_PRODUCTS = {
    "AddbmmBackward0": 1, "AddmvBackward0": 1, "AddrBackward0": 1, "BaddbmmBackward0": 1, "BmmBackward0": 0,
    "ConvolutionBackward0": 0, "DivBackward0": 0, "DotBackward0": 0, "MmBackward0": 0, "MulBackward0": 0,
    "MvBackward0": 0, "VdotBackward0": 0,
}  # fmt: skip


def kept(node) -> dict[str, _C.Tensor | None]:
    """The tensors that a node keeps, by name; None for one that this call had no need of."""
    kind = type(node).__name__
    names = _NAMES.get(kind)
    if names is None:
        return {}
    tensors = node._saved_tensors
    inputs = node.next_functions
    if not tensors and kind in _PRODUCTS and inputs[_PRODUCTS[kind]][0] is inputs[_PRODUCTS[kind] + 1][0] is None:
        return dict.fromkeys(names)  # neither factor needs a gradient
    if not tensors and kind == "AddmmBackward0" and sum(n is not None for n, _ in inputs) == 1:
        return {}
    if not tensors:
        raise RuntimeError(
            f"the tensors that {kind} saved were freed by a backward\n  hint: look at them before, or pass "
            "retain_graph=True to it"
        )
    if kind in _PRODUCTS:
        first = _PRODUCTS[kind]
        if len(inputs) < first + 2:  # another operation under this name
            return {}
        if len(tensors) == 1:
            is_first = inputs[first + 1][0] is not None and kind != "DivBackward0"  # which always keeps its divisor
            tensors = (tensors[0], None) if is_first else (None, tensors[0])
    elif len(tensors) < len(names) and kind in ("AddmmBackward0", "ClampBackward0"):
        names = names[:1] if kind == "ClampBackward0" else []  # which of the others it is, is not known
    missing = (None,) * (len(names) - len(tensors))
    return {n: t for n, t in zip(names, (*tensors, *missing), strict=False) if n != "-"}


def get(node, attribute: str):
    """``getattr(node, attribute)`` where the node's class has no such attribute."""
    if attribute.startswith("_saved_") and type(node).__name__ in _NAMES:
        names = kept(node)
        name = attribute.removeprefix("_saved_")
        if name in names:
            return names[name]
    raise AttributeError(f"{type(node).__name__!r} object has no attribute {attribute!r}", name=attribute, obj=node)


def attributes(node) -> list[str]:
    """``dir(node)``."""
    names = _NAMES.get(type(node).__name__, ())
    return sorted({*object.__dir__(node), *(f"_saved_{n}" for n in names if n != "-")})

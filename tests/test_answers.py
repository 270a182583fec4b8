"""What programs ask before they compute, and switches that they set: answered without a GPU, or refused by name."""

import contextlib
import pickle
import warnings

import pytest

import rushlight as rl

CPU_ONLY = "this build of Rushlight computes on the CPU"

ANSWERS = [
    ("cuda.is_available()", False),
    ("cuda.device_count()", 0),
    ("cuda.is_initialized()", False),
    ("cuda.is_bf16_supported()", False),
    ("cuda.manual_seed_all(0)", None),
    ("cuda.manual_seed(0)", None),
    ("cuda.seed_all()", None),
    ("cuda.empty_cache()", None),
    ("cuda.synchronize()", None),
    ("cuda.ipc_collect()", None),
    ("cuda.memory_allocated()", 0),
    ("cuda.max_memory_allocated('cuda:0')", 0),
    ("cuda.memory_reserved(0)", 0),
    ("cuda.memory_stats()", {}),
    ("cuda.memory.memory_allocated()", 0),
    ("cuda.random.manual_seed_all(0)", None),
    ("cuda.reset_peak_memory_stats()", None),
    ("cuda.get_arch_list()", []),
    ("cuda.set_device(-1)", None),
    ("cuda.get_rng_state_all()", []),
    ("cuda.set_rng_state_all([])", None),
    ("cuda.nvtx.range_push('x')", 0),
    ("cuda.OutOfMemoryError is lib.OutOfMemoryError", True),
    ("backends.cudnn.is_available()", False),
    ("lib.complex64.is_complex, lib.complex64.is_floating_point, lib.complex64.itemsize", (True, False, 8)),
    ("lib.float8_e5m2.is_complex, lib.float8_e5m2.is_floating_point, lib.float8_e5m2.itemsize", (False, True, 1)),
    ("lib.ones(1).dtype in (lib.complex32, lib.complex64, lib.complex128, lib.float8_e4m3fn)", False),
    (
        "lib.complex64 == lib.complex128, lib.cfloat is lib.complex64, lib.cdouble is lib.complex128",
        (False, True, True),
    ),
    ("lib.complex64.__class__ is lib.dtype, repr(lib.complex64)", (True, "torch.complex64")),
    ("backends.cudnn.version()", None),
    ("backends.cudnn.enabled", True),
    ("backends.cudnn.deterministic", False),
    ("backends.cudnn.is_acceptable(lib.ones(1))", False),
    ("backends.cuda.is_built()", False),
    ("backends.cuda.matmul.allow_bf16_reduced_precision_reduction", True),
    ("backends.cuda.flash_sdp_enabled()", True),
    ("backends.mps.is_available()", False),
    ("backends.mps.is_built()", False),
    ("backends.mkldnn.is_available()", False),
    ("backends.mkl.is_available()", False),
    ("backends.openmp.is_available()", False),
    ("backends.opt_einsum.is_available()", False),
    ("backends.mha.get_fastpath_enabled()", True),
    ("backends.cpu.get_cpu_capability() in ('AVX512', 'AVX2', 'DEFAULT')", True),
    ("mps.is_available()", False),
    ("mps.device_count()", 0),
    ("mps.manual_seed(0)", None),
    ("mps.empty_cache()", None),
    ("xpu.is_available()", False),
    ("accelerator.is_available()", False),
    ("accelerator.device_count()", 0),
    ("accelerator.current_accelerator()", None),
    ("accelerator.synchronize()", None),
    ("cpu.is_available()", True),
    ("cpu.device_count()", 1),
    ("cpu.current_device()", "cpu"),
    ("distributed.is_available()", False),
    ("distributed.is_initialized()", False),
    ("jit.is_scripting()", False),
    ("jit.is_tracing()", False),
    ("jit.annotate(int, 3)", 3),
    ("jit.isinstance(3, int)", True),
    ("onnx.is_in_onnx_export()", False),
    ("compiler.is_compiling()", False),
    ("compiler.list_backends()", []),
    ("is_autocast_enabled()", False),
    ("get_autocast_dtype('cuda') is lib.float16", True),
    ("version.cuda", None),
    ("version.hip", None),
    ("version.debug", False),
    ("get_num_interop_threads()", 1),
    ("get_default_device()", rl.device("cpu")),
    ("get_device_module() is lib.cpu", True),
    ("get_device_module('cuda') is lib.cuda", True),
    ("set_default_device('cpu')", None),
    ("set_default_device(None)", None),
    ("set_flush_denormal(True)", False),
    ("is_vulkan_available()", False),
    ("compiled_with_cxx11_abi()", True),
    ("utils.deterministic.fill_uninitialized_memory", True),
]


@pytest.mark.parametrize("question, answer", ANSWERS, ids=[question for question, _ in ANSWERS])
def test_answers(question, answer):
    given = eval(question if question.startswith("lib.") else f"lib.{question}", {"lib": rl})
    assert given == answer and type(given) is type(answer)


NEEDS_A_DEVICE = [
    "cuda.current_device()",
    "cuda.get_device_name()",
    "cuda.get_device_properties(0)",
    "cuda.get_device_capability()",
    "cuda.set_device(0)",
    "cuda.mem_get_info()",
    "cuda.current_stream()",
    "cuda.get_rng_state()",
    "cuda.set_rng_state_all([lib.ones(1)])",
    "cuda.Stream()",
    "cuda.Event(enable_timing=True)",
    "cuda.CUDAGraph()",
    "cuda.device(0).__enter__()",
    "cuda.stream(3).__enter__()",
    "set_default_device('cuda')",
    "ones(2).type(lib.cuda.FloatTensor)",
    "ones(2).type('torch.cuda.FloatTensor')",
    "ones(2, device='cuda')",
    "nn.Linear(1, 1).cuda()",
    "accelerator.current_device_index()",
    "accelerator.memory_allocated()",
    "mps.get_rng_state()",
]


@pytest.mark.parametrize("call", NEEDS_A_DEVICE)
def test_what_needs_a_device_says_why_there_is_none(call):
    with pytest.raises(RuntimeError, match=CPU_ONLY) as caught:
        eval(f"lib.{call}", {"lib": rl})
    assert "\n  hint: " in str(caught.value)


@pytest.mark.parametrize("call", ["zeros(2, dtype=d)", "tensor([1], dtype=d)", "ones(1).to(d)", "ones(1).type(d)",
                                  "ones(2).view(d)", "ones(2).sum(dtype=d)", "finfo(d)", "iinfo(d)"])  # fmt: skip
@pytest.mark.parametrize("name", ["complex64", "complex128", "float8_e4m3fn"])
def test_dtypes_that_are_names_only(name, call):
    with pytest.raises(NotImplementedError, match=f"{name}"):
        eval(f"lib.{call}", {"lib": rl, "d": getattr(rl, name)})
    dtype = getattr(rl, name)
    assert pickle.loads(pickle.dumps(dtype)) is dtype


def test_contexts_that_change_nothing():
    cuda = rl.cuda
    for context in (
        cuda.stream(None),
        cuda.device(-1),
        cuda.device(None),
        cuda.device_of(rl.ones(1)),
        rl.cpu.stream(None),
    ):
        with context:
            pass
    with cuda.nvtx.range("part"):
        cuda.set_stream(None)


def test_switches_are_remembered():
    cudnn = rl.backends.cudnn
    cudnn.benchmark = False
    with cudnn.flags(enabled=False, benchmark=True):
        assert not cudnn.enabled and cudnn.benchmark and not cudnn.deterministic
    assert cudnn.enabled and not cudnn.benchmark
    before = cudnn.set_flags(_benchmark=True)
    assert cudnn.benchmark and before[1] is False
    cudnn.set_flags(*before)
    with rl.backends.mkldnn.flags(enabled=False):
        assert not rl.backends.mkldnn.enabled
    with rl.backends.cuda.sdp_kernel(enable_flash=False):
        assert not rl.backends.cuda.flash_sdp_enabled() and rl.backends.cuda.math_sdp_enabled()
    rl.backends.cuda.enable_math_sdp(False)
    assert not rl.backends.cuda.math_sdp_enabled()
    rl.backends.cuda.enable_math_sdp(True)
    rl.set_float32_matmul_precision("high")
    assert rl.get_float32_matmul_precision() == "high"
    rl.set_float32_matmul_precision("highest")
    rl.set_num_interop_threads(3)
    assert rl.get_num_interop_threads() == 3
    rl.set_num_interop_threads(1)
    rl.set_warn_always(True)
    assert rl.is_warn_always_enabled()
    rl.set_warn_always(False)


def test_deterministic_algorithms():
    assert not rl.are_deterministic_algorithms_enabled() and rl.get_deterministic_debug_mode() == 0
    rl.use_deterministic_algorithms(True, warn_only=True)
    assert rl.are_deterministic_algorithms_enabled() and rl.is_deterministic_algorithms_warn_only_enabled()
    rl.set_deterministic_debug_mode("error")
    assert rl.get_deterministic_debug_mode() == 2 and not rl.is_deterministic_algorithms_warn_only_enabled()
    rl.use_deterministic_algorithms(False)
    assert rl.get_deterministic_debug_mode() == 0


@pytest.mark.parametrize(
    "call, error",
    [
        ("set_float32_matmul_precision('novel')", ValueError),
        ("set_deterministic_debug_mode('novel')", RuntimeError),
        ("set_num_interop_threads(0)", RuntimeError),
        ("set_default_tensor_type('novel')", ValueError),
        ("set_default_tensor_type(lib.float32)", TypeError),
        ("set_default_tensor_type('torch.cuda.FloatTensor')", TypeError),
        ("get_device_module('meta')", RuntimeError),
        ("compile(3)", TypeError),
        ("compile(novel=3)", TypeError),
        ("autocast(3)", ValueError),
    ],
)
def test_what_is_refused(call, error):
    with pytest.raises(error):
        eval(f"lib.{call}", {"lib": rl})


# ---- compile


def test_compile_says_once_that_it_does_not():
    rl.compiler._said = False
    with pytest.warns(UserWarning, match=r"compile\(\) does not compile") as caught:
        function = rl.compile(lambda x: x + 1)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @rl.compile
        def plain(x):
            return x + 2

        @rl.compile(mode="max-autotune", fullgraph=True, dynamic=False, backend="inductor")
        def with_options(x):
            return x + 3

        model = rl.nn.Linear(2, 2)
        assert rl.compile(model) is model and model.compile(mode="default") is model
    assert [f(1) for f in (function, plain, with_options)] == [2, 3, 4]
    rl.compiler._said = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rl.compile(plain, disable=True)
        assert rl.compiler.disable(plain) is plain and rl.compiler.disable(recursive=False)(plain) is plain
        with rl.compiler.set_stance("force_eager"):
            rl.compiler.reset()


# ---- mixed precision on a device that is not there


def test_cuda_spellings_of_mixed_precision_disable_themselves():
    layer = rl.nn.Linear(2, 1)
    optimizer = rl.optim.SGD(layer.parameters(), lr=1.0)
    for make in (rl.cuda.amp.autocast, lambda: rl.autocast("cuda", dtype=rl.float16), lambda: rl.amp.autocast("cuda")):
        with pytest.warns(UserWarning, match="disabled"), make():
            assert layer(rl.ones(1, 2)).dtype == rl.float32
    for make in (rl.cuda.amp.GradScaler, rl.amp.GradScaler, rl.GradScaler):
        with pytest.warns(UserWarning, match="disabled"):
            scaler = make()
        before = layer.bias.item()
        optimizer.zero_grad()
        scaler.scale(layer(rl.ones(1, 2)).sum()).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        assert layer.bias.item() == pytest.approx(before - 1) and not scaler.is_enabled() and scaler.get_scale() == 1
        scaler.load_state_dict(scaler.state_dict())
    with warnings.catch_warnings(), contextlib.ExitStack():
        warnings.simplefilter("error")
        rl.cuda.amp.GradScaler(enabled=False)

        @rl.cuda.amp.autocast(enabled=False)
        def run():
            return layer(rl.ones(1, 2))

        assert run().dtype == rl.float32


# ---- tensor types


def test_tensor_types():
    x = rl.LongTensor([[1, 2], [3, 4]])
    assert x.dtype == rl.int64 and isinstance(x, rl.LongTensor) and not isinstance(x, rl.FloatTensor)
    assert isinstance(rl.nn.Parameter(rl.ones(1)), rl.FloatTensor) and not isinstance(rl.ones(1), rl.cuda.FloatTensor)
    assert not isinstance(3, rl.FloatTensor)
    assert rl.FloatTensor(2, 3).shape == (2, 3) and rl.BoolTensor([2, 0]).tolist() == [True, False]
    assert x.type(rl.FloatTensor).dtype == x.type("torch.FloatTensor").dtype == rl.float32
    assert x.type() == "torch.LongTensor" and x.new([5]).type() == x.type() and x.new(2, 2).shape == (2, 2)
    assert rl.FloatTensor.dtype == rl.float32 and repr(rl.cuda.HalfTensor) == "<class 'torch.cuda.HalfTensor'>"
    assert pickle.loads(pickle.dumps(rl.ByteTensor)) is rl.ByteTensor
    with pytest.raises(TypeError, match=r"hint: convert it: tensor.to\(torch.int64\)"):
        rl.LongTensor(rl.ones(2))
    with pytest.raises(TypeError, match=CPU_ONLY):
        rl.cuda.FloatTensor(2)
    rl.set_default_tensor_type(rl.DoubleTensor)
    try:
        assert rl.ones(1).dtype == rl.float64
    finally:
        rl.set_default_tensor_type("torch.FloatTensor")
    assert rl.ones(1).dtype == rl.float32


# ---- nn.DataParallel, hub


def test_data_parallel_runs_the_module():
    layer = rl.nn.Linear(2, 1)
    model = rl.nn.DataParallel(layer, device_ids=[0, 1])
    x = rl.ones(3, 2)
    assert rl.equal(model(x), layer(x)) and model.module is layer
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    assert rl.equal(rl.nn.parallel.data_parallel(layer, x), layer(x))


def test_hub(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert rl.hub.get_dir() == str(tmp_path / "hub")
    (tmp_path / "hubconf.py").write_text(
        "from helper import size\ndef model(n=1):\n    'Words.'\n    return [size] * n\n"
    )
    (tmp_path / "helper.py").write_text("size = 4\n")
    assert rl.hub.load(tmp_path, "model", n=2, source="local", trust_repo=True) == [4, 4]
    assert (
        rl.hub.list(tmp_path, source="local") == ["model"]
        and rl.hub.help(tmp_path, "model", source="local") == "Words."
    )
    with pytest.raises(RuntimeError, match="no function 'novel'"):
        rl.hub.load(tmp_path, "novel", source="local")
    with pytest.raises(FileNotFoundError):
        rl.hub.load(tmp_path / "none", "model", source="local")


def test_hub_fetches_files(tmp_path):
    import hashlib

    rl.save({"w": rl.ones(2)}, tmp_path / "source.pt")
    digits = hashlib.sha256((tmp_path / "source.pt").read_bytes()).hexdigest()[:8]
    url = (tmp_path / "source.pt").rename(tmp_path / f"source-{digits}.pt").as_uri()
    for _ in range(2):  # the second finds it in the folder
        loaded = rl.hub.load_state_dict_from_url(url, tmp_path / "kept", check_hash=True, progress=False)
        assert loaded["w"].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="SHA-256"):
        rl.hub.download_url_to_file(url, str(tmp_path / "other.pt"), "00000000", progress=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept", f"source-{digits}.pt"]


# ---- helpers that programs import by their place in PyTorch


def test_parts_of_a_dataset():
    parts = [rl.utils.data.DistributedSampler(range(10), num_replicas=4, rank=rank, seed=1) for rank in range(4)]
    first = [list(part) for part in parts]
    assert {len(part) for part in first} == {3} == {len(part) for part in parts}
    assert sorted({i for part in first for i in part}) == list(range(10))
    for part in parts:
        part.set_epoch(1)
    assert [list(part) for part in parts] != first
    with pytest.raises(ValueError, match="from 0 to 3"):
        rl.utils.data.DistributedSampler(range(10), num_replicas=4, rank=4)
    with pytest.raises(NotImplementedError, match="hint: give both"):
        rl.utils.data.DistributedSampler(range(10))


def test_helpers_of_layers():
    from rushlight.nn.modules.utils import _pair, _single, _triple, consume_prefix_in_state_dict_if_present

    assert (_single(3), _pair(3), _pair([1, 2]), _triple(iter("abc"))) == ((3,), (3, 3), (1, 2), ("a", "b", "c"))
    layer = rl.nn.Sequential(rl.nn.Linear(2, 1))
    state = rl.nn.DataParallel(layer).state_dict()
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == list(layer.state_dict()) and list(state._metadata) == list(layer.state_dict()._metadata)
    layer.load_state_dict(state)


def test_variable():
    x = rl.ones(2)
    v = rl.autograd.Variable(x, requires_grad=True)
    assert type(v) is rl.Tensor and v.is_leaf and v.requires_grad and not x.requires_grad
    assert v.data_ptr() == x.data_ptr() and v._version == x._version
    w = rl.ones(2, requires_grad=True)
    assert not rl.autograd.Variable(w).requires_grad and rl.autograd.Variable(w * 2).grad_fn is None
    assert rl.autograd.Variable().numel() == 0 and rl.autograd.Variable(data=x, requires_grad=False).tolist() == [1, 1]
    assert isinstance(rl.nn.Parameter(x), rl.autograd.Variable) and not isinstance(3, rl.autograd.Variable)
    with pytest.warns(UserWarning, match="no_grad"):
        rl.autograd.Variable(x, volatile=True)
    with pytest.raises(TypeError, match="takes a tensor, not list"):
        rl.autograd.Variable([1.0])
    with pytest.raises(RuntimeError, match="floating point"):
        rl.autograd.Variable(rl.arange(2), requires_grad=True)

"""Models: names and sizes of parameters, outputs, weights from files."""

import hashlib
import pathlib

import pytest

import rushlight as rl
from rushlight.vision import models
from rushlight.vision.models import resnet

SIZES = {  # parameters, entries of the state_dict
    "resnet18": (11_689_512, 122),
    "resnet34": (21_797_672, 218),
    "resnet50": (25_557_032, 320),
    "resnet101": (44_549_160, 626),
    "resnet152": (60_192_808, 932),
    "resnext50_32x4d": (25_028_904, 320),
    "wide_resnet50_2": (68_883_240, 320),
    "alexnet": (61_100_840, 16),
    "vgg11": (132_863_336, 22),
    "vgg13": (133_047_848, 26),
    "vgg16": (138_357_544, 32),
    "vgg16_bn": (138_365_992, 97),
    "vgg19": (143_667_240, 38),
    "mobilenet_v2": (3_504_872, 314),
}


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    """Values do not matter where names and shapes are asked for, and drawing millions takes a while."""
    for name in ("kaiming_uniform_", "kaiming_normal_", "uniform_", "normal_"):
        monkeypatch.setattr(rl.nn.init, name, lambda tensor, *args, **kwargs: tensor)


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name):
    model = models.get_model(name)
    assert (sum(p.numel() for p in model.parameters()), len(model.state_dict())) == SIZES[name]


def test_names():
    names = list(models.resnet18().state_dict())
    assert names[:7] == [
        "conv1.weight",
        "bn1.weight",
        "bn1.bias",
        "bn1.running_mean",
        "bn1.running_var",
        "bn1.num_batches_tracked",
        "layer1.0.conv1.weight",
    ]
    assert names[-2:] == ["fc.weight", "fc.bias"]
    assert {"layer2.0.downsample.0.weight", "layer2.0.downsample.1.running_var", "layer4.1.bn2.bias"} <= {*names}
    assert "layer1.0.downsample.0.weight" not in names
    wide = models.resnet50().state_dict()
    assert (
        wide["layer1.0.downsample.0.weight"].shape == (256, 64, 1, 1) and wide["layer4.2.conv3.weight"].shape[0] == 2048
    )
    assert wide["layer1.0.conv2.weight"].shape == (64, 64, 3, 3)
    assert [name for name, _ in models.resnet18().named_children()] == [
        *["conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4", "avgpool", "fc"]
    ]


@pytest.mark.parametrize(
    "name, some",
    [
        ("alexnet", ["features.0.weight", "features.10.bias", "classifier.1.weight", "classifier.6.bias"]),
        ("vgg16", ["features.0.weight", "features.28.bias", "classifier.0.weight", "classifier.6.bias"]),
        ("vgg16_bn", ["features.1.running_mean", "features.40.weight", "classifier.3.weight"]),
        (
            "mobilenet_v2",
            [
                *["features.0.0.weight", "features.1.conv.0.0.weight", "features.1.conv.2.running_var"],
                *[
                    "features.2.conv.1.0.weight",
                    "features.17.conv.3.bias",
                    "features.18.1.weight",
                    "classifier.1.weight",
                ],
            ],
        ),
    ],
)
def test_names_of_others(name, some):
    assert {*some} <= {*models.get_model(name, num_classes=3).state_dict()}


def test_mobilenet():
    model = models.mobilenet_v2(num_classes=5, width_mult=0.35).eval()
    assert model(rl.rand(2, 3, 64, 64)).shape == (2, 5)
    assert model.features[0][0].out_channels == 16 and model.last_channel == 1280
    with pytest.raises(ValueError, match="4-element lists"):
        models.mobilenet_v2(inverted_residual_setting=[[1, 2]])


def test_stride_becomes_dilation():
    model = models.resnet50(num_classes=4, replace_stride_with_dilation=[False, True, True]).eval()
    assert model.layer3[0].conv2.stride == (1, 1) and model.layer3[1].conv2.dilation == (2, 2)
    assert model.layer4[0].conv2.dilation == (2, 2) and model.layer4[1].conv2.dilation == (4, 4)
    with pytest.raises(NotImplementedError, match="resnet50"):
        models.resnet18(replace_stride_with_dilation=[False, False, True])
    with pytest.raises(ValueError, match="should be None or 3 values"):
        models.resnet50(replace_stride_with_dilation=[True])
    with pytest.raises(ValueError, match="groups=1"):
        models.resnet18(groups=2)


def test_blocks_may_start_as_the_identity():
    for name, last in (("resnet18", "bn2"), ("resnet50", "bn3")):
        model = models.get_model(name, zero_init_residual=True)
        assert not getattr(model.layer3[0], last).weight.any() and model.layer3[0].bn1.weight.all()


def test_trains(monkeypatch):
    monkeypatch.undo()
    model = resnet.ResNet(resnet.BasicBlock, [1, 1, 1, 1], num_classes=3)
    images, labels = rl.randn(4, 3, 32, 32), rl.tensor([0, 1, 2, 1])
    optimizer = rl.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(6):
        loss = rl.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    assert model.eval()(images).shape == (4, 3)


# ---- by name


def test_registry():
    assert set(SIZES) <= {*models.list_models()} and models.list_models() == sorted(models.list_models())
    assert models.list_models(module=resnet, include="resnet*", exclude=["*1*"]) == ["resnet34", "resnet50"]
    assert models.get_model_builder("ResNet18") is models.resnet18
    with pytest.raises(ValueError, match="Unknown model resnet19(.|\n)*did you mean 'resnet18'"):
        models.get_model("resnet19")
    with pytest.raises(ValueError, match="registered already"):

        @models.register_model("resnet18")
        def another():
            pass


# ---- weights


@pytest.mark.parametrize("given", [{"weights": "DEFAULT"}, {"weights": "IMAGENET1K_V1"}, {"pretrained": True},
                                   {"weights": models.ResNet18_Weights.DEFAULT}])  # fmt: skip
def test_weights_that_are_not_there(given, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(RuntimeError) as caught:
        models.resnet18(**given)
    text = str(caught.value)
    for words in ("resnet18-f37072fd.pth", str(tmp_path / "hub" / "checkpoints"), "hint:", "load_state_dict"):
        assert words in text
    for plain in ({"weights": None}, {"pretrained": False}, {}):
        assert models.resnet18(**plain).fc.out_features == 1000


def test_weights_that_are_there(tmp_path, monkeypatch):
    """The error's hint, followed: the file is put where it says."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    state = models.resnet18().state_dict()
    state["fc.bias"] = rl.arange(1000.0)
    path = folder / "resnet18-f37072fd.pth"
    rl.save(state, path)
    with pytest.raises(RuntimeError, match="damaged: its SHA-256 sum begins with"):
        models.resnet18(weights="DEFAULT")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    named = models.Weights(f"resnet18-{digest}.pth")
    path.rename(folder / named.file)
    monkeypatch.setattr(models.ResNet18_Weights.DEFAULT, "_value_", named)
    assert (models.resnet18(weights="DEFAULT").fc.bias == rl.arange(1000.0)).all()
    model = models.resnet18()
    model.load_state_dict(rl.load(pathlib.Path(folder / named.file)))
    with pytest.raises(ValueError, match="1000 classes, but num_classes=10(.|\n)*hint"):
        models.resnet18(weights="DEFAULT", num_classes=10)


def test_wrong_weights():
    with pytest.raises(ValueError, match="no weights 'LATEST'(.|\n)*IMAGENET1K_V1"):
        models.resnet18(weights="LATEST")
    with pytest.raises(TypeError, match="ResNet18_Weights"):
        models.resnet18(weights=models.ResNet50_Weights.DEFAULT)


def test_transforms_of_weights():
    from PIL import Image

    image = models.ResNet18_Weights.DEFAULT.transforms()(Image.new("RGB", (400, 300), (124, 116, 104)))
    assert image.shape == (3, 224, 224) and image.abs().max() < 0.01

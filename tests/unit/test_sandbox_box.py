"""The arguments of bubblewrap, what may be reached, and what of git's settings is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from helmsman.config import SandboxConfig
from helmsman.errors import OperatorError
from helmsman.sandbox import CLAUDE_HOSTS, SYSTEM, Mount, Reach, arguments, config_text, parse_config_list, reach_of, with_proxy

pytestmark = pytest.mark.feature("D5")

PATHS = st.text("abc-/ ~$'\"", min_size=1).map(lambda text: f"/{text}")
MOUNTS = st.builds(Mount, path=PATHS, way=st.sampled_from(["read", "write", "empty", "nothing"]), source=PATHS)


def options_of(words: list[str], option: str) -> list[tuple[str, str]]:
    return [(words[at + 1], words[at + 2]) for at, word in enumerate(words) if word == option]


def test_each_mount_has_its_option() -> None:
    words = [Mount("/a", way, "/b").arguments() for way in ("read", "write", "empty", "nothing")]
    assert words == [["--ro-bind", "/b", "/a"], ["--bind", "/b", "/a"], ["--tmpfs", "/a"], ["--ro-bind", "/dev/null", "/a"]]


@given(st.lists(MOUNTS), st.booleans())
def test_only_named_paths_are_writable_and_mounts_keep_their_order(mounts: list[Mount], shares: bool) -> None:
    words = arguments("/w", mounts, shares_network=shares)
    laid = [part for mount in mounts for part in mount.arguments()]
    written = [mount for mount in mounts if mount.way == "write"]
    assert [path for _, path in options_of(words, "--bind")] == [mount.path for mount in written]
    assert laid == words[len(words) - len(laid) - 5 : len(words) - 5]
    assert words[-5:] == ["--remount-ro", "/", "--chdir", "/w", "--"]


@given(st.lists(MOUNTS), st.booleans())
def test_a_sandbox_has_no_capabilities_and_shares_the_network_only_if_asked(mounts: list[Mount], shares: bool) -> None:
    words = arguments("/w", mounts, shares_network=shares)
    head = words[: words.index("--proc")]
    assert ("--unshare-net" in head) is not shares
    assert {"--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--die-with-parent"} <= set(head)
    assert head[head.index("--cap-drop") + 1] == "ALL"
    assert [path for path, _ in options_of(head, "--ro-bind-try")] == list(SYSTEM)


def test_homes_and_what_runs_on_the_machine_are_no_part_of_the_system() -> None:
    assert not {"/", "/home", "/root", "/run", "/var", "/tmp", "/srv", "/mnt", "/media", "/sys", "/boot"} & set(SYSTEM)


@pytest.mark.parametrize(
    ("environment", "hosts", "expected"),
    [
        ({}, (), Reach((), tuple((host, 443) for host in CLAUDE_HOSTS), proxy=True)),
        ({"ANTHROPIC_BASE_URL": "https://llm.example/v1"}, (), Reach((), (("llm.example", 443),), proxy=True)),
        ({"ANTHROPIC_BASE_URL": "https://u:p@LLM.example:8443"}, (), Reach((), (("llm.example", 8443),), proxy=True)),
        ({"ANTHROPIC_BASE_URL": "http://127.0.0.1:8001"}, (), Reach((8001,), proxy=True)),
        (
            {"ANTHROPIC_BASE_URL": "http://localhost:8080"},
            ("a.b", "*.c:8"),
            Reach((8080,), (("a.b", 443), ("*.c", 8)), proxy=True),
        ),
        ({"ANTHROPIC_BASE_URL": "http://[::1]:9000/x"}, (), Reach((9000,), proxy=True)),
    ],
)
def test_the_endpoint_comes_from_the_environment(environment: dict[str, str], hosts: tuple[str, ...], expected: Reach) -> None:
    assert reach_of(environment, hosts, CLAUDE_HOSTS) == expected


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:443", "127.0.0.1:1023", "LocalHost:80", "a.example:0", "a.example:65536"]
)
def test_an_impossible_port_is_refused(host: str) -> None:
    with pytest.raises(OperatorError, match=r"sandbox\.hosts"):
        reach_of({}, SandboxConfig(hosts=(host,)).hosts, CLAUDE_HOSTS)


@pytest.mark.parametrize(
    "url", ["http://llm.example", "ftp://x", "llm.example", "https://", "https://a b", "http://10.0.0.1:1", "x" * 999]
)
def test_a_model_that_is_reached_in_clear_text_or_not_at_all_is_refused(url: str) -> None:
    with pytest.raises(OperatorError, match="ANTHROPIC_BASE_URL"):
        reach_of({"ANTHROPIC_BASE_URL": url}, (), CLAUDE_HOSTS)


def test_an_unknown_model_address_is_refused() -> None:
    with pytest.raises(OperatorError, match="the address of this agent's model is unknown"):
        reach_of({}, (), ())
    assert reach_of({}, ("a.example",), ()).endpoints == (("a.example", 443),)


@pytest.mark.parametrize(
    ("host", "port", "allowed"),
    [
        ("a.example", 443, True),
        ("A.EXAMPLE.", 443, True),
        ("a.example", 80, False),
        ("b.a.example", 443, False),
        ("evil-a.example", 443, False),
        ("x.wild.example", 443, True),
        ("wild.example", 443, False),
        ("evilwild.example", 443, False),
        ("a.example.evil.com", 443, False),
        ("", 443, False),
    ],
)
def test_a_name_is_allowed_whole_or_not_at_all(host: str, port: int, allowed: bool) -> None:
    assert Reach((), (("a.example", 443), ("*.wild.example", 443))).allows(host, port) is allowed


def test_the_proxy_takes_a_port_that_nothing_else_has_and_other_proxies_are_forgotten() -> None:
    reach = Reach((3128, 3129), (("a", 443),), proxy=True)
    assert reach.proxy_port == 3130
    told = with_proxy({"https_proxy": "http://corporate", "ALL_PROXY": "x", "PATH": "p"}, reach)
    assert told["HTTPS_PROXY"] == told["https_proxy"] == "http://127.0.0.1:3130"
    assert "ALL_PROXY" not in told
    assert told["NO_PROXY"] == "127.0.0.1,::1,localhost"
    assert with_proxy({"https_proxy": "http://corporate"}, Reach()) == {}


def test_an_invalid_host_is_refused() -> None:
    for host in ["", "*", "*.", "a/b", "a b", "-a", "a:", "http://a", "a:123456", "*.*.a"]:
        with pytest.raises(ValidationError):
            SandboxConfig(hosts=(host,))


def test_a_relative_path_is_refused() -> None:
    for path in ["secret.env", "./x", "", "~ada/x", "x/~"]:
        for key in ["read", "write", "hide"]:
            with pytest.raises(ValidationError):
                SandboxConfig.model_validate({key: [path]})
            assert SandboxConfig(hide=("~", "~/x", "/x")).hide == ("~", "~/x", "/x")


def test_the_git_configuration_contains_no_address_and_no_credential() -> None:
    told = (
        "user.name\nAda", "remote.origin.url\nhttps://u:token@x", "url.https://t@x.insteadof\nx", "credential.helper\nstore",
        "http.extraheader\nAuthorization: x", "core.sshcommand\nevil", "core.fsmonitor\nevil", "core.autocrlf\ninput",
        "core.bare", "include.path\n~/x", "alias.x\n!evil", "filter.lfs.clean\ngit-lfs clean -- %f",
    )  # fmt: skip
    printed = "".join(f"local\0{entry}\0" for entry in told) + "command\0core.hookspath\n/dev/null\0"
    assert config_text(parse_config_list(printed)) == (
        '[user]\n\tname = "Ada"\n[core]\n\tautocrlf = "input"\n[filter "lfs"]\n\tclean = "git-lfs clean -- %f"\n'
    )


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"), min_size=1)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=("Cs",)))


@given(NAMES, VALUES)
def test_settings_are_read_back_unchanged(name: str, value: str) -> None:
    settings = [("user.name", value), (f"filter.{name}.clean", value)]
    text = config_text(settings)
    assert text.count("[") - name.count("[") - 2 * value.count("[") == 2

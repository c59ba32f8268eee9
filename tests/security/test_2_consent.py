"""Consent is to one repository, and to what its own files ask for, whichever way they are reached."""

import pytest

from tests.fakes.repositories import sh
from tests.security import test_2_trust
from tests.security.test_2_trust import PRESET, Clone

clone = test_2_trust.clone
pytestmark = pytest.mark.feature("X5")


def test_a_preset_that_the_user_names_by_path_does_not_vouch_for_the_repository_s(clone: Clone) -> None:
    clone.plant(**{"helmsman.toml": 'preset = "bugfix"\n', ".helmsman/presets/bugfix.md": PRESET})
    (clone.folder / "mine.md").write_text(PRESET.replace("[settings.claude]\nbinary", "[settings.memory]\nextraction"))
    clone.operator_sets(f'preset = "{clone.folder}/mine.md"\n')
    told = clone.here("config")
    assert '.helmsman/presets/bugfix.md: settings.claude.binary = "./evil"' in told


def test_programs_in_the_configuration_of_one_worktree_are_shown_too(clone: Clone) -> None:
    clone.plant(**{".gitattributes": "* filter=evil\n"})
    sh(clone.repository, "worktree", "add", "--quiet", str(clone.folder / "tree"))
    sh(clone.repository, "config", "extensions.worktreeConfig", "true")
    sh(clone.folder / "tree", "config", "--worktree", "filter.evil.clean", str(clone.evil()))
    (clone.folder / "tree/.gitattributes").write_text("* filter=evil diff\n")
    verified = clone.run("verify", "HEAD..HEAD", "--check", "true", "--yes", "--repo", clone.folder / "tree")
    assert "filter.evil.clean" in verified.errors, verified
    assert not clone.mark.exists()

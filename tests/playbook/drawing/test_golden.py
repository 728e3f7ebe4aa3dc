import pytest

from tests.playbook.drawing.golden import DRAWINGS, FOLDER, path_of
from tests.playbook.drawing.samples import SAMPLES


@pytest.mark.parametrize("suffix", DRAWINGS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_is_drawn_as_it_was_accepted(sample: str, suffix: str) -> None:
    assert DRAWINGS[suffix](SAMPLES[sample]) == path_of(sample, suffix).read_text("utf-8")


def test_every_accepted_drawing_belongs_to_a_sample() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(SAMPLES)

from noetl.cli.markdown import styled

PAGE = """\
# NOE999 a-rule

Write `this`, not `that`.

## Example

```yaml
a: 1

b: `2`
```
"""


def test_signs_of_markdown_become_roles() -> None:
    assert styled(PAGE, lambda text, role: f"<{role}>{text}</>" if text else "") == (
        "<title>NOE999 a-rule</>\n"
        "\n"
        "Write <sample>this</>, not <sample>that</>.\n"
        "\n"
        "<strong>Example</>\n"
        "\n"
        "    <sample>a: 1</>\n"
        "\n"
        "    <sample>b: `2`</>\n"
    )

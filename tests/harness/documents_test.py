"""The pages of docs/ as a stranger finds them."""

import pathlib
import re
import unittest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


class Pages(unittest.TestCase):
    def test_each_begins_with_who_it_is_for(self):
        pages = sorted(DOCS.glob("*.md"))
        self.assertGreater(len(pages), 20)
        self.assertEqual([page.name for page in pages if not re.match(
            r"# .+\n\n(For|Reference for) (?!example)", page.read_text())], [])


if __name__ == "__main__":
    unittest.main()

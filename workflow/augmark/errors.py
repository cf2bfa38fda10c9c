"""The errors that a user is shown. Standard library only."""


class AugmarkError(Exception):
    """Something the user can mend.

    Args:
        what: What is wrong, with the offending value in it.
        where: The file, key or path that it is about.
        remedy: What to do about it.
    """

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what, self.where, self.remedy = what, where, remedy
        place = f"{where}: " if where else ""
        cure = f"\n  remedy: {remedy}" if remedy else ""
        super().__init__(f"{place}{what}{cure}")

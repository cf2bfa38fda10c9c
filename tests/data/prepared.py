"""Items as the tests prepare them."""

from augmark.data.itemfile import open_items
from augmark.data.items import prepare_items


def prepare(audited, folder, items=None, seed=1, **options):
    """Prepare items of an audited dataset, and open them."""
    prepare_items(*audited, items=items, seed=seed, out_dir=folder, **options)
    return open_items(folder)

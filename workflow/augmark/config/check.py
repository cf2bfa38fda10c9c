"""Check what a configuration means: every rule sees the whole, all problems are reported at once."""

from __future__ import annotations

from augmark.config import (
    again,
    check_choice,
    check_claims,
    check_comparison,
    check_datasets,
    check_questions,
    check_stanzas,
    check_tables,
    check_tree,
)
from augmark.config.problems import Problem
from augmark.config.settings import Draft, Settings

CHECKS = (
    check_stanzas.check_libraries,
    check_stanzas.check_offers,
    check_stanzas.check_transforms,
    check_stanzas.check_scenarios,
    check_stanzas.check_machines,
    again.check_again,
    check_datasets.check_datasets,
    check_tree.check_adapters,
    check_tree.check_environments,
    check_tables.check_campaigns,
    check_tables.check_tables,
    check_tables.check_depths,
    check_claims.check_claims,
    check_comparison.check_comparison,
    check_questions.check_variables,
    check_questions.check_questions,
    check_questions.check_plan_choice,
    check_choice.check_names,
    check_choice.check_dataset_choice,
    check_choice.check_numbers,
    check_choice.check_selection,
)


def check(draft: Draft, settings: Settings) -> list[Problem]:
    """Hold every rule of meaning against the configuration.

    Args:
        draft: What was read: stanzas that their schema refuses are left out of it, but their names are known.
        settings: The same, put together; names in it may still lead nowhere.

    Returns:
        The problems in the order of ``CHECKS``; none if the configuration is right.
    """
    return [problem for rule in CHECKS for problem in rule(draft, settings)]

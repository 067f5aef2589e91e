"""Tags choose the checks and the methods that exist."""

from dataclasses import replace

from bagwise import InstanceSVC
from bagwise.testing import bag_checks, check_bag_estimator


class WholeBags(InstanceSVC):
    def __bag_tags__(self):
        tags = super().__bag_tags__()
        return replace(tags, instance_scores="", bag_score=None, gap=False, objective=False)


def test_tags_choose_the_checks():
    every = {check.__name__ for check in bag_checks(InstanceSVC())}
    fewer = {check.__name__ for check in bag_checks(WholeBags())}
    assert every - fewer == {
        "check_bag_score_is_made_of_instance_scores",
        "check_key_instances_score_highest",
        "check_parts_follow",
    }
    check_bag_estimator(WholeBags())

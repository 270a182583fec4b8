"""The older name of a function of ``rushlight.hub``."""

from ..hub import load_state_dict_from_url

load_url = load_state_dict_from_url

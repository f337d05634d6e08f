"""Surveys whose answers are randomized by those who give them: the local model.

`Survey` says what is asked and with which probabilities an answer is replaced. A respondent's
answer is randomized by `randomize`, or on their own phone by the page that `questionnaire` makes;
`estimate` finds the true shares in what was collected.
"""

from discreet.surveys.survey import Estimate, Survey, estimate, questionnaire, randomize, survey_in

__all__ = ["Estimate", "Survey", "estimate", "questionnaire", "randomize", "survey_in"]

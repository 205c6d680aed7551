"""Descriptions of released data sets whose files say all that is needed in columns."""

IMO_PROOFBENCH = """
[fields]
problem_id = "Problem ID"
problem = "Problem"
reference_solution = "Solution"
reference_answer = {from = "Short Answer", optional = true}
rubric = "Grading guidelines"
subject = {from = "Category", optional = true}
source_id = {from = "Source", optional = true}
[fields.domain]
from = "Problem ID"
pattern = "-(?P<value>Basic|Advanced)-"
values = {Basic = "imo-basic", Advanced = "imo-advanced"}
"""

GRADINGBENCH = """
split = "paragraphs"
[fields]
proof_id = "Grading ID"
problem_id = "Problem ID"
problem = "Problem"
reference_solution = {from = "Solution", optional = true}
rubric = {from = "Grading guidelines", optional = true}
proof = {from = "Response", optional = true}
grade = "Points"
max_grade = {value = 7}
remark = {from = "Reward", optional = true}
source_id = {from = "Problem Source", optional = true, prefix = "gradingbench:"}
"""

PROOFBENCH = """
split = "paragraphs"
[fields]
problem_id = "problem_id"
problem = "problem"
policy = "generator"
reference_solution = {from = "reference_solution", optional = true}
rubric = {from = "marking_scheme", optional = true}
proof = {from = "model_solution", optional = true}
grade = "expert_rating"
max_grade = {value = 7}
subject = {from = "metadata.contest", optional = true}
source_id = {from = "problem_id", prefix = "proofbench:"}
"""

MATHARENA = """
split = "paragraphs"
[fields]
problem_id = "problem_idx"
problem = "problem"
policy = "model_name"
proof = {from = "answer", optional = true}
rubric = {from = "grading_details_judge_1[].grading_scheme_desc", optional = true}
max_grade = "max_points_judge_1"
[graders]
layout = "wide"
columns.judge_1 = {grade = "points_judge_1", comment = "grading_details_judge_1[].desc"}
columns.judge_2 = {grade = "points_judge_2", comment = "grading_details_judge_2[].desc", optional = true}
"""

DEEPSEEK = """
split = "paragraphs"
[fields]
problem_id = {from = "problem_id", optional = true}
problem = "problem"
proof = {from = "proof", optional = true}
grade = "human_rating"
max_grade = {value = 7}
policy = {value = "DeepSeekMath-V2"}
remark = {from = "average_automatic_rating", optional = true, prefix = "average_automatic_rating "}
"""

"""The benchmark: workloads R1 to R5 through gateway, Loop and Adapter as real processes, beside bare bounds.

`make bench` and `python -m bench` run it; nothing of it is shipped in the wheel.
"""

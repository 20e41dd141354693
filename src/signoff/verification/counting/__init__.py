"""Test counts: how many tests a contract ran, read from its reports and from what it printed.

What this can prove. Counts are evidence against honest mistakes and simple lies: tests deleted,
deselected or skipped, a runner that found nothing, a summary line printed by the product. Where
two sources disagree the smaller one counts, so a forger has to silence the runner as well.

What it cannot prove. The product runs inside the runner's process with the runner's rights. Code
that prints a summary and ends the process (`os._exit(0)`), or that rewrites the runner in memory,
can say anything, in reports as well as on the streams. Only an isolated check (held-out contracts,
protected tests, red first) answers that.
"""

"""One function per verb: takes plain values, returns a frozen report, never prints.

A file here belongs to the verb that its first line names. What several verbs need lies in folders,
and files and folders import each other in one direction only:

    ground    what nearly every verb stands on: site, person, worker, history, pins, workspace
    clients   the files of clients that `install` changes, and the seats that clients take
    running   around a run: its checkout, its own output, its marks, ending it by an answer
    sessions  an agent's session: opened and judged, its calls run and watched, its work read
    merging   judging on merged content; whether a plan's work is in the base
    proofs    what a sign-off rests on, who worked on it, judging it again

Only `seatfolder` serves a door: hooks must answer before anything else is loaded.
"""

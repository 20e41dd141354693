"""One function per verb: takes plain values, returns a frozen report, never prints.

A file here belongs to the verb that its first line names, or to a phase that verbs share: a plan is
found (`harness`), approved (`history`, `pinning`) and opened for work (`openwork`). `clients` has
the files of clients that `install` changes. Only `seatfolder` serves a door: hooks must answer
before anything else is loaded.
"""

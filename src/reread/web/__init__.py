"""The local web application: pages over the archive, for the person at this machine.

The only room that speaks HTTP. Every request passes `guard.Guard`.
"""

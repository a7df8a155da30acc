"""Media: taken out of what is stored, kept once, put back exactly, and reported where that cannot be.

From the bottom up: `encodings` (bytes as they stand in values), `shapes` (which leaves are media), `holes` and `walk`
(out of a value and back in), `policy` and `strip` (what a save does), `placing` (as storage calls it); `stores`,
`directory`, `objects` and `calls` (blobs outside the server), `cache`; `table` and `hooks` (what is known and told),
`references` and `uploads` (media kept at providers), `garbage` (sweeping shared stores).
"""

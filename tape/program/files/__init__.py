"""Programs in files: `archive` writes and reads them, `structures` the trees of their arguments,
`types` dtypes and numbers, `callbacks` the operations that files may name.
"""

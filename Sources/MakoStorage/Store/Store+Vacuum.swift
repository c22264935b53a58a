extension Store {
    /// Shrinks the file as far as its contents allow now: moves pages from its end to free places, and truncates it.
    ///
    /// The store does this in the background after many deletions, when nothing was written for a while; this method
    /// does it at once. Readers continue, and so does the writer between the steps. Pages of open snapshots stay in
    /// place, and so limit the shrinking. ``compact(at:options:progress:)`` makes the smallest file, but needs a store
    /// that is not open.
    ///
    /// - Throws: ``StorageError/readOnly(reason:)``, ``StorageError/writerTimeout(seconds:)``,
    ///   ``StorageError/corrupted(page:reason:)`` and I/O errors. The contents of the store do not change in any case.
    /// - Complexity: linear in the moved pages, and in the entries of trees whose large values are moved.
    public func shrink() throws(StorageError) {
        try requireOpen()
        if options.readOnly { throw .readOnly(reason: "it was opened so") }
        defer { events?.deliver() }
        try background.vacuum.run(self)
    }
}

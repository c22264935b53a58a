extension Store {
    /// Makes the file as short as its content allows now: pages from its end move to free places, and the end is cut off.
    ///
    /// A store that was emptied does this by itself when nothing has been written for a while; this does it at once. Readers go on, and the
    /// writer between its parts. What open snapshots need stays in its place, and the file so long. ``compact(at:options:progress:)`` makes
    /// the smallest file, but of a store that nobody has open.
    ///
    /// - Throws: ``StorageError/readOnly(reason:)``, ``StorageError/writerTimeout(seconds:)``, ``StorageError/corrupted(page:reason:)``
    ///   and I/O errors. The store holds what it held in any case.
    /// - Complexity: linear in the pages to be moved; in the entries of trees whose large values are moved.
    public func shrink() throws(StorageError) {
        try requireOpen()
        if options.readOnly { throw .readOnly(reason: "it was opened so") }
        defer { events?.deliver() }
        try background.vacuum.run(self)
    }
}

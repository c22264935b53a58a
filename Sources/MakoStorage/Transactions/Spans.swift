/// Values and keys as spans: the compiler ensures that borrowed bytes do not outlive the call.
extension Snapshot {
    /// Calls `body` with the bytes of the value of `key`, without a copy; returns nil if there is none.
    ///
    /// ```swift
    /// let length = try snapshot.withSpan(of: 7, in: films) { $0.byteCount }
    /// ```
    ///
    /// - Throws: ``StorageError``, and the errors of `body`.
    /// - Complexity: logarithmic in the entries of the tree.
    @inlinable
    public func withSpan<R>(of key: UInt64, in tree: Tree, _ body: (RawSpan) throws -> R) throws -> R? {
        try withValue(of: key, in: tree) { try body($0.bytes) }
    }

    /// Calls `body` with the bytes of the value of `key`, without a copy; returns nil if there is none.
    @inlinable
    public func withSpan<R>(of key: [UInt8], in tree: Tree, _ body: (RawSpan) throws -> R) throws -> R? {
        try withValue(of: key, in: tree) { try body($0.bytes) }
    }
}

extension Cursor {
    /// Calls `body` with the bytes of the current value. The span is valid until it returns.
    @inlinable
    public func withSpan<R>(_ body: (RawSpan) throws -> R) throws -> R {
        try withValue { try body($0.bytes) }
    }
}

extension WriteTransaction {
    /// Puts a value, replacing any value of the key.
    public func put(_ value: RawSpan, for key: UInt64, in tree: Tree) throws(StorageError) {
        try value.withUnsafeBytes { (bytes) throws(StorageError) in try put(bytes, for: key, in: tree) }
    }

    /// Puts a value for a key of at most 900 bytes, replacing any value of the key.
    public func put(_ value: RawSpan, for key: RawSpan, in tree: Tree) throws(StorageError) {
        try value.withUnsafeBytes { (bytes) throws(StorageError) in
            try key.withUnsafeBytes { (key) throws(StorageError) in try put(bytes, for: key, in: tree) }
        }
    }
}

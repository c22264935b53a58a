import MakoStorage

/// A chunk of a word's postings during an update.
struct PostingChunk {
    /// The chunk's key in the tree; that of a word's first chunk has no number.
    let key: [UInt8]
    let base: UInt64
    var bytes: [UInt8]

    /// Inserts, replaces or removes a row.
    ///
    /// - Parameter body: the row's occurrences; `nil` to remove the row.
    /// - Returns: whether the row is the last one; `nil` if the chunk is damaged, or the row to be removed is missing.
    mutating func set(_ row: UInt64, _ body: UnsafeRawBufferPointer?, _ columnBits: UInt64) -> Bool? {
        let edited: (bytes: [UInt8], isLast: Bool)? = bytes.withUnsafeBytes { old in
            var out = KeyBuffer()
            var reader = PostingReader(old, base: base, columnBits: columnBits)
            var previous = base
            var kept = 0
            var isThere = false
            var isNext = false
            while reader.next() {
                if reader.row < row {
                    (previous, kept) = (reader.row, reader.end)
                } else if reader.row == row {
                    isThere = true
                } else {
                    isNext = true
                    break
                }
            }
            if reader.isDamaged || (body == nil && !isThere) { return nil }
            out.append(raw: UnsafeRawBufferPointer(rebasing: old[..<kept]))
            if let body {
                out.append(varint: row &- previous)
                out.append(raw: body)
                previous = row
            }
            if isNext {
                out.append(varint: reader.row &- previous)
                out.append(raw: UnsafeRawBufferPointer(rebasing: old[reader.bodyStart...]))
            }
            return (out.bytes, !isNext)
        }
        guard let edited else { return nil }
        bytes = edited.bytes
        return edited.isLast
    }

    /// Splits the chunk, unless it has a single row.
    ///
    /// - Parameter keepsMost: whether the new chunk has the last row only.
    /// - Returns: the number of the first row of the new chunk, and its bytes, relative to that number.
    mutating func divide(_ columnBits: UInt64, keepsMost: Bool) -> (row: UInt64, bytes: [UInt8])? {
        let middle = bytes.count / 2
        let part: (row: UInt64, bytes: [UInt8], kept: Int)? = bytes.withUnsafeBytes { old in
            var reader = PostingReader(old, base: base, columnBits: columnBits)
            while reader.next() {
                let isWanted = keepsMost ? reader.end == old.count : reader.start >= middle || reader.end == old.count
                if reader.start > 0 && isWanted {
                    var out = KeyBuffer()
                    out.append(varint: 0)
                    out.append(raw: UnsafeRawBufferPointer(rebasing: old[reader.bodyStart...]))
                    return (reader.row, out.bytes, reader.start)
                }
            }
            return nil
        }
        guard let part else { return nil }
        bytes.removeSubrange(part.kept...)
        return (part.row, part.bytes)
    }
}

extension FullTextIndex {
    /// Returns the chunk that has a row, or would have it; `nil` if the word has none.
    func chunk(
        of term: UnsafeRawBufferPointer, around row: UInt64, _ view: Snapshot
    ) throws(RecordError) -> PostingChunk? {
        var key = KeyBuffer()
        FullTextIndex.termKey(term, into: &key)
        FullTextIndex.appendChunk(row, to: &key)
        let sought = key.bytes
        do throws(StorageError) {
            var cursor = try view.cursor(in: tree)
            var isThere = try cursor.seek(sought)
            if isThere, cursor.key != sought {
                isThere = try cursor.previous()
            } else if !isThere {
                isThere = try cursor.last()
            }
            guard isThere else { return nil }
            let found = cursor.key
            guard let base = found.withUnsafeBytes({ FullTextIndex.base(of: $0, term: term) }) else { return nil }
            return PostingChunk(key: found, base: base, bytes: try cursor.value())
        } catch { throw .storage(error) }
    }

    /// Inserts or replaces a row's occurrences of a word.
    func enter(
        _ row: UInt64, _ body: UnsafeRawBufferPointer, of term: UnsafeRawBufferPointer, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        var key = KeyBuffer()
        FullTextIndex.termKey(term, into: &key)
        guard var chunk = try chunk(of: term, around: row, tx.view) else {
            var first = PostingChunk(key: key.bytes, base: FullTextIndex.firstBase, bytes: [])
            _ = first.set(row, body, columnBits)
            return try put(first, tx)
        }
        guard let isLast = chunk.set(row, body, columnBits) else { throw damaged(term) }
        var other: (row: UInt64, bytes: [UInt8])?
        if chunk.bytes.count > FullTextIndex.chunkLimit { other = chunk.divide(columnBits, keepsMost: isLast) }
        try put(chunk, tx)
        guard let other else { return }
        FullTextIndex.appendChunk(other.row, to: &key)
        try put(PostingChunk(key: key.bytes, base: other.row, bytes: other.bytes), tx)
    }

    /// Removes a row's occurrences of a word.
    func remove(
        _ row: UInt64, of term: UnsafeRawBufferPointer, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        guard var chunk = try chunk(of: term, around: row, tx.view), chunk.set(row, nil, columnBits) != nil else {
            throw damaged(term)
        }
        if !chunk.bytes.isEmpty { return try put(chunk, tx) }
        let key = chunk.key
        guard key.count == term.count + 1 else {
            _ = try engine { () throws(StorageError) in try tx.delete(key, in: tree) }
            return
        }
        // A word's first chunk has the short key, so that the next chunk is moved there.
        guard let next = try following(chunk, term, tx.view) else {
            _ = try engine { () throws(StorageError) in try tx.delete(key, in: tree) }
            return
        }
        try moveDown(next, to: key, tx)
    }

    /// Returns the next chunk of the word.
    func following(
        _ chunk: PostingChunk, _ term: UnsafeRawBufferPointer, _ view: Snapshot
    ) throws(RecordError) -> PostingChunk? {
        do throws(StorageError) {
            var cursor = try view.cursor(in: tree)
            guard try cursor.seek(chunk.key + [0]) else { return nil }
            let found = cursor.key
            guard let base = found.withUnsafeBytes({ FullTextIndex.base(of: $0, term: term) }) else { return nil }
            return PostingChunk(key: found, base: base, bytes: try cursor.value())
        } catch { throw .storage(error) }
    }

    private func moveDown(
        _ chunk: PostingChunk, to key: [UInt8], _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        let moved = chunk.bytes.withUnsafeBytes { old in
            var out = KeyBuffer()
            var reader = PostingReader(old, base: chunk.base, columnBits: columnBits)
            guard reader.next() else { return [UInt8]() }
            out.append(varint: reader.row &- FullTextIndex.firstBase)
            out.append(raw: UnsafeRawBufferPointer(rebasing: old[reader.bodyStart...]))
            return out.bytes
        }
        if moved.isEmpty { throw damaged("a chunk of postings cannot be read") }
        let old = chunk.key
        _ = try engine { () throws(StorageError) in try tx.delete(old, in: tree) }
        try put(PostingChunk(key: key, base: FullTextIndex.firstBase, bytes: moved), tx)
    }

    private func put(_ chunk: PostingChunk, _ tx: borrowing WriteTransaction) throws(RecordError) {
        try engine { () throws(StorageError) in try tx.put(chunk.bytes, for: chunk.key, in: tree) }
    }

    private func damaged(_ term: UnsafeRawBufferPointer) -> RecordError {
        damaged("the postings of \(String(decoding: term, as: UTF8.self)) do not fit the rows")
    }
}

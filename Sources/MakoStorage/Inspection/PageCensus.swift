/// Counts of the pages of a file by tree and kind, with the bytes that their entries use.
package struct PageCensus: Sendable, Hashable {
    package internal(set) var counts: [PageCensusGroup: PageCensusCount] = [:]

    mutating func add(_ kind: PageCensusKind, _ tree: String?, _ usedBytes: Int) {
        let group = PageCensusGroup(kind: kind, tree: tree)
        var count = counts[group] ?? PageCensusCount()
        count.pages += 1
        count.usedBytes += usedBytes
        counts[group] = count
    }
}

/// What a group of pages holds.
package enum PageCensusKind: String, Sendable, Hashable, CaseIterable {
    case leaf, inner
    /// The pages of values that do not fit their leaf.
    case value
    /// The header block, the metas, the bitmaps of pages in use and the list of the trees.
    case fixed
    case free
    /// A page in use whose content does not pass its checks, or was replaced by the writer after the checkpoint.
    case unknown
}

package struct PageCensusGroup: Sendable, Hashable {
    package let kind: PageCensusKind
    /// The name of the tree; nil for pages of none, and for values that bypass the page cache.
    package let tree: String?
}

package struct PageCensusCount: Sendable, Hashable {
    package var pages = 0
    /// The bytes that headers and entries use; 0 for kinds without entries.
    package var usedBytes = 0
}

extension PageInspection {
    /// The number of pages per read of the file.
    private static let batch = 256

    /// Counts the pages of a range, by the newest checkpoint in the file.
    ///
    /// - Throws: I/O errors.
    /// - Complexity: linear in the bytes of the range.
    package func census(from first: UInt64, count: UInt64) throws(StorageError) -> PageCensus {
        var census = PageCensus()
        let page = SalvagedPage()
        let end = first + min(count, pageCount - min(first, pageCount))
        var next = first
        while next < end {
            let many = Int(min(end - next, UInt64(Self.batch)))
            let bytes = try read(next, count: many)
            for index in 0..<many {
                let range = index * pageBytes..<(index + 1) * pageBytes
                guard range.upperBound <= bytes.count else { break }
                bytes.withUnsafeBytes { all in
                    add(next + UInt64(index), UnsafeRawBufferPointer(rebasing: all[range]), page, &census)
                }
            }
            next += UInt64(many)
        }
        return census
    }

    private func add(
        _ number: UInt64, _ bytes: UnsafeRawBufferPointer, _ page: SalvagedPage, _ census: inout PageCensus
    ) {
        switch use(of: number) {
        case .fixed: return census.add(.fixed, nil, 0)
        case .free: return census.add(.free, nil, 0)
        case .inUse, .unknown: break
        }
        guard page.take(number, from: bytes, codec) else {
            // The pages of large values have no header.
            return census.add(page.header.number == number ? .unknown : .value, nil, 0)
        }
        let tree = treeName(page.header.tree)
        switch page.type {
        case .integerLeaf, .byteLeaf: census.add(.leaf, tree, page.usedBytes)
        case .integerInner, .byteInner: census.add(.inner, tree, page.usedBytes)
        case .overflow: census.add(.value, tree, 0)
        case .bitmap, .directory, .header, .meta: census.add(.fixed, nil, 0)
        case nil: census.add(.unknown, nil, 0)
        }
    }
}

extension SalvagedPage {
    /// The bytes that the header and the entries of a leaf or an inner page use; 0 for other pages and damaged ones.
    fileprivate var usedBytes: Int {
        guard let kind = keyKind, (try? validate()) != nil else { return 0 }
        return min(pageBytes, kind == .integer ? IntegerNode.usedBytes(header.base) : ByteNode.usedBytes(header.base))
    }
}

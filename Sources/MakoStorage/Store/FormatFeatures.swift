/// The features of a file beyond the first form of format version 1, as bits of the header's `mustRead`.
///
/// A bit is set durably before the first byte that needs it is written, and is never cleared. A program that does not
/// know a bit refuses the file.
struct FormatFeatures: OptionSet, Hashable {
    let rawValue: UInt64

    /// Named values, whose pages the log names, and values with several runs of pages; see ValueExtents.swift.
    static let namedValues = FormatFeatures(rawValue: 1 << 0)

    /// Deletions of ranges of byte keys in the log.
    static let byteRanges = FormatFeatures(rawValue: 1 << 1)

    /// Encryption of everything except the header block; see PageCipher.swift. Set at the creation of a database.
    static let encryption = FormatFeatures(rawValue: 1 << 2)

    /// Renamed trees in the log.
    static let renamedTrees = FormatFeatures(rawValue: 1 << 3)

    /// Trees with subtree counts.
    static let subtreeCounts = FormatFeatures(rawValue: 1 << 4)

    /// Reserved for rows that have the versions of their columns in them; see decision 107. Not supported.
    static let versionsInRows = FormatFeatures(rawValue: 1 << 5)

    /// The features that this program supports.
    static let known: FormatFeatures = [.namedValues, .byteRanges, .encryption, .renamedTrees, .subtreeCounts]
}

/// The features that a program must support to write a file, as bits of the header's `mustWrite`.
///
/// A bit is set as those of ``FormatFeatures``, and only ``follower`` is ever cleared. A program that does not know a
/// bit can read the file, and refuses to write it.
package struct WriterFeatures: OptionSet, Hashable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Delete rules in the catalogue, which every deletion of rows must apply.
    package static let referenceRules = WriterFeatures(rawValue: 1 << 0)

    /// The file is a follower's: it has what the branch of an object store has, and nothing of its own. Only the
    /// follower writes it; promotion clears the bit. Its log may end anywhere, because the branch has the rest.
    package static let follower = WriterFeatures(rawValue: 1 << 1)

    /// Reserved for trees with the versions of rows and columns, and tombstones, which every change of rows must
    /// maintain; see decision 107. Not supported.
    static let versionTrees = WriterFeatures(rawValue: 1 << 2)

    /// The features that this program supports.
    static let known: WriterFeatures = [.referenceRules, .follower]
}

extension FileHeader {
    var features: FormatFeatures { FormatFeatures(rawValue: mustRead) }

    var isFollower: Bool {
        get { WriterFeatures(rawValue: mustWrite).contains(.follower) }
        set {
            let others = WriterFeatures(rawValue: mustWrite).subtracting(.follower)
            mustWrite = (newValue ? others.union(.follower) : others).rawValue
        }
    }

    /// Throws if the file uses unknown features.
    func checkFeatures(path: String, writing: Bool) throws(StorageError) {
        let unknown =
            mustRead & ~FormatFeatures.known.rawValue | (writing ? mustWrite & ~WriterFeatures.known.rawValue : 0)
        if unknown != 0 { throw .unsupportedFeatures(path: path, bits: unknown) }
    }
}

extension Store {
    /// Sets a feature in the header, before the file uses it.
    ///
    /// Takes two syncs at the first use in a file, and nothing later.
    func use(_ feature: FormatFeatures) throws(StorageError) {
        guard !FormatFeatures(rawValue: dataFile.features.load(ordering: .relaxed)).contains(feature) else { return }
        do throws(FileError) {
            try dataFile.lock.withLock { () throws(FileError) in
                let all = dataFile.header.features.union(feature).rawValue
                if !options.readOnly {
                    try dataFile.update { $0.mustRead = all }
                }
                dataFile.features.store(all, ordering: .relaxed)
            }
        } catch { throw failed(error, "recording a feature of the file format") }
    }

    /// Sets a feature that programs must support to write the file, before the file uses it.
    func use(_ feature: WriterFeatures) throws(StorageError) {
        do throws(FileError) {
            try dataFile.lock.withLock { () throws(FileError) in
                let known = dataFile.header.mustWrite
                if known & feature.rawValue == feature.rawValue || options.readOnly { return }
                try dataFile.update { $0.mustWrite = known | feature.rawValue }
            }
        } catch { throw failed(error, "recording a feature of the file format") }
    }
}

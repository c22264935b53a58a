/// What a file uses beyond the first form of version 1, as bits of the header's `mustRead`.
///
/// A bit is set, durably, before the first byte that needs it is written, and stays. A program that does not know it refuses the file.
struct FormatFeatures: OptionSet, Hashable {
    let rawValue: UInt64

    /// Values whose pages the log names, and values on several runs of pages; see ValueRuns.swift.
    static let namedValues = FormatFeatures(rawValue: 1 << 0)

    /// The log has deletions of ranges of byte keys.
    static let byteRanges = FormatFeatures(rawValue: 1 << 1)

    /// Everything but the header block is encrypted; see PageCipher.swift. Set when a database is made.
    static let encryption = FormatFeatures(rawValue: 1 << 2)

    /// The log has trees that were given other names.
    static let renamedTrees = FormatFeatures(rawValue: 1 << 3)

    /// There are trees whose inner nodes have counts of the entries below.
    static let subtreeCounts = FormatFeatures(rawValue: 1 << 4)

    /// What this program reads and writes.
    static let known: FormatFeatures = [.namedValues, .byteRanges, .encryption, .renamedTrees, .subtreeCounts]
}

/// What a program must heed that writes a file, as bits of the header's `mustWrite`.
///
/// A bit is set as those of ``FormatFeatures`` are. A program that does not know it reads the file, and refuses to write it.
package struct WriterFeatures: OptionSet, Hashable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The catalogue has delete rules, which whoever deletes rows applies.
    package static let referenceRules = WriterFeatures(rawValue: 1 << 0)

    /// What this program heeds.
    static let known: WriterFeatures = [.referenceRules]
}

extension FileHeader {
    var features: FormatFeatures { FormatFeatures(rawValue: mustRead) }

    /// Refuses a file that uses what this program does not know.
    func checkFeatures(path: String, writing: Bool) throws(StorageError) {
        let unknown =
            mustRead & ~FormatFeatures.known.rawValue | (writing ? mustWrite & ~WriterFeatures.known.rawValue : 0)
        if unknown != 0 { throw .unsupportedFeatures(path: path, bits: unknown) }
    }
}

extension Store {
    /// Sees to it that the header says that the file uses a feature, before it does.
    ///
    /// Two syncs at a file's first use, nothing later.
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

    /// Sees to it that the header says that whoever writes the file must heed a feature, before the file has it.
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

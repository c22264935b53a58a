import Testing

/// Features that only listed files may use.
@Suite struct FenceTests {
    /// The only files with pointers: the page and log formats, the transfer of bytes between memory and files, and the
    /// decoders of rows and keys. Each checks a length before it reads. Each new name must be justified in review.
    private static let mayUsePointers: Set<String> = [
        // Installs and reads signal handlers; the handler that ignores a signal is the address 1.
        "Sources/MakoCommand/Shell/Signals.swift",
        "Sources/MakoCore/Database/ThreadScope.swift",
        "Sources/MakoCore/Database/CurrentCancellation.swift",
        "Sources/MakoCore/Entities/ObjectLock.swift",
        // Reads pairs with existentials in place; the runtime copies them member by member.
        "Sources/MakoCore/Query/PlainInsert.swift",
        "Sources/MakoCore/Relations/FetchContext.swift", "Sources/MakoCore/Relations/FetchedResults.swift",
        "Sources/MakoCore/Relations/KnownObject.swift",
        "Sources/MakoCore/Relations/ReleasedObjects.swift",
        // A connection of libpq and its results.
        "Sources/MakoPostgres/PostgresConnection.swift",
        "Sources/MakoRecords/Query/Execution/IndexTuple.swift",
        "Sources/MakoRecords/Tables/IndexGroups.swift",
        "Sources/MakoRecords/Tables/IndexScan.swift",
        "Sources/MakoRecords/Query/Expressions/RelatedRowCache.swift",
        "Sources/MakoRecords/Query/Expressions/PushedPredicate.swift",
        "Sources/MakoRecords/Query/Functions/RunSearch.swift",
        "Sources/MakoRecords/Text/Postings.swift",
        "Sources/MakoRecords/Text/Tokenizer.swift",
        "Sources/MakoRecords/Rows/SortedEntries.swift",
        "Sources/MakoRecords/Values/KeyBuffer.swift",
        "Sources/MakoRecords/Values/KeyOrder.swift",
        "Sources/MakoRecords/Tables/RowLookup.swift",
        "Sources/MakoRecords/Rows/RowArenaChunk.swift",
        "Sources/MakoRecords/Rows/SortedRuns.swift",
        "Sources/MakoRecords/Rows/SortedTable.swift",
        "Sources/MakoRecords/Rows/OperandCoding.swift",
        "Sources/MakoRecords/Rows/RowLayout.swift",
        "Sources/MakoRecords/Rows/RowReader.swift",
        "Sources/MakoRecords/Rows/RowWriter.swift",
        "Sources/MakoStorage/Encryption/CipherKey.swift",
        "Sources/MakoStorage/Encryption/PageCipher.swift",
        "Sources/MakoStorage/Encryption/SecretBytes.swift",
        "Sources/MakoStorage/Encryption/SegmentCipher.swift",
        "Sources/MakoStorage/Files/LazyReference.swift",
        "Sources/MakoStorage/Files/Lock.swift",
        "Sources/MakoStorage/Files/POSIXFile.swift",
        "Sources/MakoStorage/Files/POSIXFileSystem.swift",

        "Sources/MakoStorage/Files/StackGuard.swift",
        "Sources/MakoStorage/Files/Thread.swift",
        "Sources/MakoStorage/Log/GrowingBytes.swift",
        "Sources/MakoStorage/Commit/LogWriter.swift",
        "Sources/MakoStorage/Log/LogFormat.swift",
        "Sources/MakoStorage/Log/LogReader.swift",
        "Sources/MakoStorage/Log/LogRecord.swift",
        "Sources/MakoStorage/Pages/Checksum.swift",
        "Sources/MakoStorage/Pages/Epochs.swift",
        "Sources/MakoStorage/Pages/FrameChunks.swift",
        "Sources/MakoStorage/Pages/FrameStore.swift",
        "Sources/MakoStorage/Pages/FrameStore+Reading.swift",
        "Sources/MakoStorage/Pages/PageCheck.swift",
        "Sources/MakoStorage/Pages/PageCodec.swift",
        "Sources/MakoStorage/Pages/PageFormat.swift",
        "Sources/MakoStorage/Pages/PageTable.swift",
        "Sources/MakoStorage/Pages/BufferMemory.swift",
        "Sources/MakoStorage/Pages/SystemMemory.swift",
        "Sources/MakoStorage/Pages/ThreadExitKey.swift",
        "Sources/MakoStorage/Salvage/DamagedFile.swift",
        "Sources/MakoStorage/Salvage/SalvagedPage.swift",
        "Sources/MakoStorage/Store/DataFile.swift",
        "Sources/MakoStorage/Store/FileLayout.swift",
        "Sources/MakoStorage/Store/FollowerFile.swift",
        "Sources/MakoStorage/Store/Opening.swift",
        "Sources/MakoStorage/Store/SpillFile.swift",
        "Sources/MakoStorage/Store/BackupPart.swift",
        "Sources/MakoStorage/Store/Store+Backup.swift",
        "Sources/MakoStorage/Commit/VersionList.swift",
        "Sources/MakoStorage/Store/Store+Reading.swift",
        "Sources/MakoStorage/Transactions/Snapshot.swift",
        "Sources/MakoStorage/Transactions/BorrowedValue.swift",
        "Sources/MakoStorage/Transactions/Snapshot+Borrowing.swift",
        "Sources/MakoStorage/Transactions/SnapshotRegistry.swift",
        "Sources/MakoStorage/Transactions/Writer.swift",
        "Sources/MakoStorage/Transactions/WriterMemory.swift",
        "Sources/MakoStorage/Tree/ByteLayout.swift",
        "Sources/MakoStorage/Tree/ByteNode.swift",
        "Sources/MakoStorage/Tree/ByteNode+Entries.swift",
        "Sources/MakoStorage/Tree/KeyBytes.swift",
        "Sources/MakoStorage/Tree/Cursor.swift",
        "Sources/MakoStorage/Tree/IntegerLayout.swift",
        "Sources/MakoStorage/Tree/IntegerNode.swift",
        "Sources/MakoStorage/Tree/LeafFilling.swift",
        "Sources/MakoStorage/Tree/LZ4Block.swift",
        "Sources/MakoStorage/Tree/LeafScan.swift",
        "Sources/MakoStorage/Tree/NodeLayout.swift",
        "Sources/MakoStorage/Tree/Overflow.swift",
        "Sources/MakoStorage/Tree/WriteBuffer.swift",
        "Sources/MakoStorage/Tree/ExtentReader.swift",
        "Sources/MakoStorage/Tree/ExtentWriter.swift",
        "Sources/MakoStorage/Tree/Tree.swift",
        "Sources/MakoStorage/Tree/ValueExtents.swift",
        "Sources/MakoStorage/Tree/TreeLoad.swift",
        "Sources/MakoStorage/Tree/TreeWriter.swift",
    ]

    /// These hand on borrowed bytes that they never keep, and read them through a buffer's own bounds.
    private static let mayBorrowBytes: Set<String> = [
        "Sources/MakoStorage/Inspection/PageCensus.swift",
        "Sources/MakoStorage/Pages/PackedList.swift",
        "Sources/MakoRecords/Query/Expressions/Accumulator.swift",
        "Sources/MakoRecords/Query/Functions/Arena.swift",
        "Sources/MakoRecords/Query/Functions/Calculation.swift",
        "Sources/MakoRecords/Query/Execution/VectorAggregates.swift",
        "Sources/MakoRecords/Query/Expressions/ConstantSet.swift",
        "Sources/MakoRecords/Query/Expressions/Evaluator.swift",
        "Sources/MakoRecords/Query/Expressions/HeldKeys.swift",
        "Sources/MakoRecords/Query/Functions/ListValues.swift",
        "Sources/MakoRecords/Query/Execution/IndexOnlyScan.swift",
        "Sources/MakoRecords/Query/Execution/IndexEntries.swift",
        "Sources/MakoRecords/Query/Execution/GroupExecutor.swift",
        "Sources/MakoRecords/Query/Execution/JoinKey.swift",
        "Sources/MakoRecords/Query/Execution/JoinTable.swift",
        "Sources/MakoRecords/Query/Execution/KeptOuterRows.swift",
        "Sources/MakoRecords/Query/Execution/KeyTable.swift",
        "Sources/MakoRecords/Rows/Operand.swift",
        "Sources/MakoRecords/Rows/RowWriter+Columns.swift",
        "Sources/MakoRecords/Query/Execution/OperandStore.swift",
        "Sources/MakoRecords/Query/Expressions/Program.swift",
        "Sources/MakoRecords/Query/Execution/RowScan.swift",
        "Sources/MakoRecords/Query/Execution/RowSet.swift",
        "Sources/MakoRecords/Query/Planning/QueryFingerprint.swift",
        "Sources/MakoRecords/Query/Execution/Sorter.swift",
        "Sources/MakoRecords/Query/Execution/SpilledJoinRows.swift",
        "Sources/MakoRecords/Query/Expressions/RowContext.swift",
        "Sources/MakoRecords/Query/Functions/TextPattern.swift",
        "Sources/MakoRecords/Query/Execution/ValueTable.swift",
        "Sources/MakoRecords/Tables/ChangePlaces.swift",
        "Sources/MakoRecords/Catalogue/IndexBuild.swift",
        "Sources/MakoRecords/Query/Functions/Cast.swift",
        "Sources/MakoRecords/Rows/SpilledEntries.swift",
        "Sources/MakoRecords/Tables/TextBuild.swift",
        "Sources/MakoRecords/Text/PostingChunks.swift",
        "Sources/MakoRecords/Text/TextEntries.swift",
        "Sources/MakoRecords/References/ReferrerSearch.swift",
        "Sources/MakoRecords/Tables/EntryChanges.swift",
        "Sources/MakoRecords/Tables/IndexHandle.swift",
        "Sources/MakoRecords/Tables/RowSetDeletion.swift",
        "Sources/MakoRecords/Tables/RowIDSequence.swift",
        "Sources/MakoRecords/Tables/TableDifferences.swift",
        "Sources/MakoRecords/Tables/TableHandle+Delete.swift",
        "Sources/MakoRecords/Tables/TableHandle+Write.swift",
        "Sources/MakoRecords/Tables/UniqueClashes.swift",
        "Sources/MakoRecords/Tables/TableHandle.swift",
        "Sources/MakoRecords/Tables/RowImageLog.swift",
        "Sources/MakoRecords/Text/DocumentLengths.swift",
        "Sources/MakoRecords/Text/DocumentTerms.swift",
        "Sources/MakoRecords/Text/EnglishPrefixes.swift",
        "Sources/MakoRecords/Text/EnglishStemmer.swift",
        "Sources/MakoRecords/Query/Expressions/Excerpt.swift",
        "Sources/MakoRecords/Tables/FullTextIndex+Verify.swift",
        "Sources/MakoRecords/Text/FullTextIndex.swift",
        "Sources/MakoRecords/Text/MatchQuery.swift",
        "Sources/MakoRecords/Text/PostingChunk.swift",
        "Sources/MakoRecords/Text/RowWords.swift",
        "Sources/MakoRecords/Tables/TableHandle+Text.swift",
        "Sources/MakoRecords/Text/TermRows.swift",
        "Sources/MakoRecords/Text/TextBatch.swift",
        "Sources/MakoRecords/Text/WordTable.swift",
        "Sources/MakoRecords/Values/Folding.swift",
        "Sources/MakoStorage/Encryption/DatabaseKeys.swift",
        "Sources/MakoStorage/Encryption/KeyRecord.swift",
        "Sources/MakoStorage/Encryption/ValueCipher.swift",
        "Sources/MakoStorage/Files/BorrowedFile.swift",
        "Sources/MakoStorage/Files/FileSystem.swift",
        "Sources/MakoStorage/Files/MemoryFileSystem.swift",
        "Sources/MakoStorage/Inspection/LogInspection.swift",
        "Sources/MakoStorage/Inspection/PageInspection.swift",
        "Sources/MakoStorage/Log/LogFollower.swift",
        "Sources/MakoStorage/Store/Store+Restore.swift",
        "Sources/MakoStorage/Pages/SpaceMap.swift",
        "Sources/MakoStorage/Salvage/SalvageTarget.swift",
        "Sources/MakoStorage/Store/Recovery.swift",
        "Sources/MakoStorage/Transactions/Blob.swift",
        "Sources/MakoStorage/Transactions/BlobWriter.swift",
        "Sources/MakoStorage/Transactions/BulkLoader.swift",
        "Sources/MakoStorage/Transactions/LargeValues.swift",
        "Sources/MakoStorage/Transactions/Spans.swift",
        "Sources/MakoStorage/Transactions/WriteTransaction.swift",
        "Sources/MakoStorage/Transactions/WriteTransaction+Removals.swift",
        "Sources/MakoStorage/Log/LogArchiveReader.swift",
        "Sources/MakoStorage/Log/LogHistory.swift",
        "Sources/MakoStorage/Pages/ReadAhead.swift",
        "Sources/MakoStorage/Tree/GroupDelete.swift",
        "Sources/MakoStorage/Tree/RangeCardinality.swift",
        "Sources/MakoStorage/Tree/SubtreeCounts.swift",
        "Sources/MakoStorage/Tree/TreeReader.swift",
        "Sources/MakoStorage/Tree/Relocation.swift",
    ]

    /// Stops that only a mistake in this library itself can reach, never a file, a query or a caller's value.
    private static let mayStop: Set<String> = [
        // A commit that does not fit the log would be lost silently.
        "Sources/MakoStorage/Commit/LogWriter.swift"
    ]

    private static let pointers = [
        "UnsafePointer", "UnsafeMutablePointer", "UnsafeRawPointer", "UnsafeMutableRawPointer", "OpaquePointer",
        "unsafeBitCast", "unsafeDowncast", "Unmanaged", "withMemoryRebound", "assumingMemoryBound", "loadUnaligned",
        "baseAddress", "malloc(", ".load(fromByteOffset",
    ]
    private static let stops = [
        "try!", "as!", "fatalError", "preconditionFailure", "precondition(", "assertionFailure",
    ]

    @Test func pointersAreFenced() {
        expectOnly(Self.mayUsePointers, use: Self.pointers, "a pointer")
    }

    @Test func borrowedBytesAreFenced() {
        let bytes = ["Unsafe", "withUnsafe"]
        expectOnly(Self.mayBorrowBytes, use: bytes, "unsafe bytes", besides: Self.mayUsePointers)
    }

    @Test func nothingStopsTheProgram() {
        expectOnly(Self.mayStop, use: Self.stops, "a way to stop the program")
    }

    /// `Mutex` is a word of its own on Linux: the sanitizer takes each use of what it guards for a race. Tests have
    /// `Guarded` instead. Macros run in the compiler, never under it, and have no other layer to take a lock from.
    @Test func locksAreThoseThatTheThreadSanitizerKnows() {
        let files = Repository.files(in: "Sources") + Repository.files(in: "Tests")
        for file in files where !file.path.contains("MakoMacroExpansion/") {
            #expect(!file.code.contains("Mutex<") && !file.code.contains("Mutex("), "\(file.path) has a Mutex")
        }
    }

    /// The compiler serialises the body of an `@inlinable package` member only if the types around it are public or `@usableFromInline`. Otherwise
    /// other modules call the member, unspecialised if its type is generic, and the compiler reports nothing.
    @Test func typesWithInlinableMembersAreUsableFromInline() {
        let files = Repository.files(in: "Sources").filter { !$0.path.contains(".docc/") }
        let types = files.flatMap { DeclaredType.types(in: $0.code) }
        let declared = Dictionary(
            types.filter { !$0.isExtension }.map { ($0.name, $0.isVisible) }, uniquingKeysWith: { $0 || $1 })
        #expect(declared.count > 100)
        for type in types where type.hasInlinableMembers {
            let parts = type.name.split(separator: ".")
            let outer = parts.indices.map { parts[...$0].joined(separator: ".") }
            #expect(
                outer.allSatisfy { declared[$0] ?? true }, "\(type.name) has inlinable members that are not serialised")
        }
    }

    @Test func theScannerOfTypesKnowsWhatIsSerialised() {
        let types = DeclaredType.types(
            in: """
                @frozen @usableFromInline
                package struct Outer {
                    package final class Inner {
                        @inlinable package func read() {}
                    }
                    @usableFromInline package let first: Int
                }
                extension Outer { }
                package enum Plain {
                    package static func call() {}
                }
                """)
        #expect(types.map(\.name) == ["Outer", "Outer.Inner", "Outer", "Plain"])
        #expect(types.map(\.isVisible) == [true, false, false, false])
        #expect(types.map(\.hasInlinableMembers) == [true, true, false, false])
    }

    private func expectOnly(
        _ listed: Set<String>, use words: [String], _ what: String, besides others: Set<String> = []
    ) {
        let folders = ["Sources", "Demo"]
        var found: Set<String> = []
        for file in folders.flatMap({ Repository.files(in: $0) }) where !others.contains(file.path) {
            let lines = file.code.lines(containing: words)
            if lines.isEmpty { continue }
            found.insert(file.path)
            if !listed.contains(file.path) {
                Issue.record("\(file.path) uses \(what) in lines \(lines) and is not on the list")
            }
        }
        for path in listed.subtracting(found).sorted() { Issue.record("\(path) is on the list and has no \(what)") }
    }

    @Test func theScannerDistinguishesCodeFromText() {
        let code = SwiftText.code(
            """
            let a = "fatalError" // fatalError
            /* try! /* nested */ as! */ let b = #"raw " as! "#
            let c = "x \\(try! f("as!")) y"
            """)
        #expect(code.lines(containing: ["fatalError", "as!"]).isEmpty)
        #expect(code.lines(containing: ["try!"]) == [3])
    }
}

/// A type or an extension as the indentation of a formatted file shows it.
private struct DeclaredType {
    /// With the names of the types around it.
    var name: String
    var isExtension: Bool
    var isVisible: Bool
    var hasInlinableMembers = false

    private static let keywords: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "extension"]

    static func types(in code: String) -> [DeclaredType] {
        var types: [DeclaredType] = []
        var open: [(indent: Int, place: Int)] = []
        var attributes: [Substring] = []
        for line in code.split(separator: "\n", omittingEmptySubsequences: false) {
            let words = line.split { $0 == " " || $0 == ":" || $0 == "<" }
            guard !words.isEmpty else { continue }
            let indent = line.prefix { $0 == " " }.count
            while let last = open.last, last.indent >= indent { open.removeLast() }
            let modifiers = words.prefix { !keywords.contains($0) }
            let isInlinable = words.contains("@inlinable") || words.contains("@usableFromInline")
            let isType = modifiers.allSatisfy {
                $0.hasPrefix("@")
                    || ["open", "public", "package", "private", "fileprivate", "final", "indirect"].contains($0)
            }
            if isType, words.count > modifiers.count + 1 {
                let given = attributes + modifiers
                let around = open.last.map { types[$0.place].name + "." } ?? ""
                if let last = open.last, given.contains("@usableFromInline") {
                    types[last.place].hasInlinableMembers = true
                }
                types.append(
                    DeclaredType(
                        name: around + words[modifiers.count + 1], isExtension: words[modifiers.count] == "extension",
                        isVisible: given.contains("public") || given.contains("@usableFromInline")))
                if line.hasSuffix("{") { open.append((indent, types.count - 1)) }
            } else if isInlinable, let last = open.last {
                types[last.place].hasInlinableMembers = true
            }
            attributes = words.allSatisfy { $0.hasPrefix("@") } ? attributes + words : []
        }
        return types
    }
}

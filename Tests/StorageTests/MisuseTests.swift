import Foundation
import MakoTestSupport
import Testing

@testable import MakoStorage

/// Invalid calls: a typed error names the reason, nothing changes, and nothing traps.
@Suite struct MisuseTests {
    private struct Sample {
        var store: Store
        var integers: Tree
        var bytes: Tree
    }

    private func sample(_ change: (inout StoreOptions) -> Void = { _ in }) throws -> Sample {
        var options = StoreOptions()
        options.background = .manual
        change(&options)
        let store = try Store.inMemory(options: options)
        let trees = try store.write { tx in
            let integers = try tx.createTree(named: "i", keys: .integer)
            let bytes = try tx.createTree(named: "b", keys: .bytes)
            for key in UInt64(0)..<300 { try tx.put([UInt8(key & 255)], for: key, in: integers) }
            for key in 0..<300 { try tx.put([UInt8(key & 255)], for: Array("key \(key)".utf8), in: bytes) }
            return (integers, bytes)
        }
        return Sample(store: store, integers: trees.0, bytes: trees.1)
    }

    private func expect(
        _ error: StorageError, _ sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) {
        #expect(throws: error, sourceLocation: sourceLocation) { try body() }
    }

    @Test func keysOfTheOtherKindAreRefused() throws {
        let sample = try sample()
        let before = try sample.store.read { try ModelStore(reading: $0) }
        let (integers, bytes) = (sample.integers, sample.bytes)
        let isInteger = StorageError.wrongKeyKind(tree: "i", expected: .integer)
        let isBytes = StorageError.wrongKeyKind(tree: "b", expected: .bytes)
        try sample.store.write { tx in
            expect(isInteger) { try tx.put([1], for: [1], in: integers) }
            expect(isInteger) { _ = try tx.insert([1], for: [1], in: integers) }
            expect(isInteger) { _ = try tx.delete([1], in: integers) }
            expect(isBytes) { try tx.put([1], for: 1, in: bytes) }
            expect(isBytes) { _ = try tx.insert([1], for: 1, in: bytes) }
            expect(isBytes) { _ = try tx.delete(1, in: bytes) }
            expect(isBytes) { _ = try tx.deleteRange(0...9, in: bytes) }
            // A tree handle with the wrong kind of keys.
            let forged = Tree(id: bytes.id, keys: .integer)
            expect(isBytes) { try tx.put([1], for: 1, in: forged) }
            expect(isBytes) { try tx.deleteAll(in: forged) }
        }
        try sample.store.read { view in
            var cursor = try view.cursor(in: bytes)
            #expect(throws: StorageError.wrongKeyKind(tree: "number \(bytes.id)", expected: .bytes)) {
                _ = try cursor.seek(1)
            }
            cursor = try view.cursor(in: integers)
            #expect(throws: StorageError.wrongKeyKind(tree: "number \(integers.id)", expected: .integer)) {
                _ = try cursor.seek([1])
            }
            #expect(throws: StorageError.self) { try view.forEach(in: bytes) { _, _ in true } }
            #expect(throws: StorageError.self) { try view.forEach(in: integers, from: []) { _, _ in true } }
            #expect(try ModelStore(reading: view) == before)
        }
    }

    @Test func whatIsTooLargeIsRefused() throws {
        let sample = try sample()
        let limit = Limits.valueBytes
        let byte = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
        defer { byte.deallocate() }
        // A value that is too long is not read, so its memory need not exist.
        let value = UnsafeRawBufferPointer(start: byte.baseAddress, count: limit + 1)
        let tooLarge = StorageError.valueTooLarge(bytes: limit + 1, limit: limit)
        try sample.store.write { tx in
            expect(tooLarge) { try tx.put(value, for: 1, in: sample.integers) }
            expect(tooLarge) { _ = try tx.insert(value, for: 1000, in: sample.integers) }
            let key: [UInt8] = [1]
            expect(tooLarge) { try key.withUnsafeBytes { try tx.put(value, for: $0, in: sample.bytes) } }
            let isDeleted = try tx.delete([UInt8](repeating: 1, count: 901), in: sample.bytes)
            #expect(!isDeleted)
            let name = String(repeating: "n", count: 5000)
            let error = #expect(throws: StorageError.self) { _ = try tx.createTree(named: name, keys: .bytes) }
            guard case .invalidArgument = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(tx.view.trees.map(\.name) == ["b", "i"])
        }
        #expect("\(tooLarge)" == "a value of \(limit + 1) bytes is larger than the limit of \(limit) bytes")
        #expect(try sample.store.read { try $0.count(of: sample.integers) } == 300)
    }

    @Test func aCursorOnNoEntryShowsNothing() throws {
        let sample = try sample()
        try sample.store.read { view in
            for tree in [sample.integers, sample.bytes] {
                var cursor = try view.cursor(in: tree)
                func expectNothing(_ cursor: inout Cursor) throws {
                    #expect(cursor.integerKey == 0 && cursor.key.isEmpty)
                    #expect(try cursor.value().isEmpty)
                    #expect(cursor.withKey { $0.count } == 0)
                    #expect(try cursor.withValue { $0.count } == 0)
                    #expect(try !cursor.next())
                    #expect(try !cursor.previous())
                }
                try expectNothing(&cursor)
                #expect(try cursor.last())
                #expect(try !cursor.next())
                try expectNothing(&cursor)
                #expect(try cursor.first())
                #expect(try !cursor.previous())
                try expectNothing(&cursor)
                // Calls for the other kind of tree.
                #expect(try cursor.first())
                #expect(tree.keys == .integer ? cursor.key.isEmpty : cursor.integerKey == 0)
            }
        }
    }

    /// From any position in a byte tree, keys longer than any stored key seek to their place in the order.
    @Test func keysBeyondTheLimitAreStillInOrder() throws {
        let sample = try sample()
        let keys = (0..<300).map { Array("key \($0)".utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        let long = Array("key 150".utf8) + [UInt8](repeating: 255, count: 3000)
        let behind = keys.drop { !long.lexicographicallyPrecedes($0) }
        try sample.store.read { view in
            #expect(try view.get(long, in: sample.bytes) == nil)
            var cursor = try view.cursor(in: sample.bytes)
            #expect(try cursor.seek(long))
            #expect(cursor.key == behind.first)
            var scanned: [[UInt8]] = []
            try view.forEach(in: sample.bytes, from: long) { key, _ in
                scanned.append([UInt8](key))
                return true
            }
            #expect(scanned == Array(behind))
        }
    }

    /// Three levels of each kind of tree, scanned from the middle, to the end, and in part.
    @Test func scansCrossEveryLevel() throws {
        let sample = try sample()
        try sample.store.write { tx in
            for key in UInt64(1000)..<6000 {
                try tx.put([UInt8](repeating: 7, count: 900), for: key, in: sample.integers)
            }
            for key in 1000..<6000 {
                try tx.put(
                    [UInt8](repeating: 7, count: 850), for: Array("a rather long key \(key)".utf8), in: sample.bytes)
            }
        }
        try sample.store.read { view in
            #expect(view.trees.allSatisfy { $0.levels >= 3 })
            var keys: [UInt64] = []
            try view.forEach(in: sample.integers, from: 1500) { key, _ in
                keys.append(key)
                return true
            }
            #expect(keys == Array(1500..<6000))
            var names: [[UInt8]] = []
            try view.forEach(in: sample.bytes, from: Array("a rather long key 3000".utf8)) { key, _ in
                names.append([UInt8](key))
                return names.count < 2500
            }
            #expect(names == (3000..<5500).map { Array("a rather long key \($0)".utf8) })
        }
    }

    @Test func emptyTreesAndEmptyValuesAreNothing() throws {
        let sample = try sample()
        let empty = try sample.store.write { tx in
            try tx.put([], for: 1, in: sample.integers)
            try tx.put([], for: [9], in: sample.bytes)
            return try tx.createTree(named: "e", keys: .integer)
        }
        try sample.store.read { view in
            var found: [Int?] = []
            try view.withValues(of: [1, 2, 3], in: empty) { found.append($1?.count) }
            try view.withValues(of: [1, 400, 2], in: sample.integers) { found.append($1?.count) }
            #expect(found == [nil, nil, nil, 0, nil, 1])
            #expect(try view.get(1, in: empty) == nil)
            #expect(try view.get([9], in: sample.bytes) == [])
            try view.forEach(in: empty) { _, _ in
                Issue.record("an entry in an empty tree")
                return true
            }
        }
    }

    @Test func aCursorOfByteKeysFollowsChanges() throws {
        let sample = try sample()
        try sample.store.write { tx in
            var cursor = try tx.view.cursor(in: sample.bytes)
            #expect(try cursor.seek(Array("key 10".utf8)))
            try tx.put([1], for: Array("key 10!".utf8), in: sample.bytes)
            #expect(try cursor.next())
            #expect(cursor.key == Array("key 10!".utf8))
            #expect(try tx.delete(Array("key 10!".utf8), in: sample.bytes))
            #expect(try cursor.previous())
            #expect(cursor.key == Array("key 10".utf8))
            #expect(try tx.delete(Array("key 10".utf8), in: sample.bytes))
            #expect(try cursor.next())
            #expect(cursor.key == Array("key 100".utf8))
        }
    }

    /// A writer that waits for the writer lock while the store is closed gets an error that says so.
    @Test func closingComesBeforeThoseWhoCameLater() throws {
        let sample = try sample()
        let writer = try sample.store.beginWrite()
        let store = sample.store
        let closers = try (0..<2).map { _ in try startThread(name: "closer") { try? store.close() } }
        let begin = ContinuousClock.now
        while !store.background.isStopping, ContinuousClock.now - begin < .seconds(60) {
            yieldThread()
        }
        let later = try startThread(name: "later") {
            do throws(StorageError) {
                let writer = try store.beginWrite()
                writer.rollback()
            } catch { #expect(error == .closed(path: store.path)) }
        }
        writer.rollback()
        for thread in closers + [later] { thread.join() }
        expect(.closed(path: store.path)) { _ = try store.beginWrite() }
    }

    @Test func savepointsBelongToTheirTransaction() throws {
        let sample = try sample()
        let other = try sample.store.beginWrite()
        let foreign = other.savepoint()
        other.rollback()
        try sample.store.write { tx in
            try tx.put([9], for: 1, in: sample.integers)
            let error = #expect(throws: StorageError.self) { try tx.rollback(to: foreign) }
            #expect(
                "\(try #require(error))"
                    == "this savepoint was rolled back past or released, or belongs to another transaction")
        }
        #expect(try sample.store.read { try $0.get(1, in: sample.integers) } == [9])
    }

    @Test func aClosedStoreSaysSo() throws {
        let sample = try sample()
        let kept = try sample.store.snapshot()
        try sample.store.close()
        try sample.store.close()
        expect(.closed(path: sample.store.path)) { _ = try sample.store.snapshot() }
        expect(.closed(path: sample.store.path)) { _ = try sample.store.beginWrite() }
        expect(.closed(path: sample.store.path)) { _ = try sample.store.verify() }
        expect(.closed(path: sample.store.path)) { try sample.store.checkpoint() }
        #expect(try !sample.store.step())
        kept.close()
        kept.close()
        expect(.closed(path: sample.store.path)) { _ = try kept.get(1, in: sample.integers) }
    }

    /// A cursor or a scan that continues after its snapshot was closed must not read a page that was reused meanwhile.
    @Test func cursorsOfAClosedSnapshotThrow() throws {
        let sample = try sample()
        let large = try sample.store.write { tx in
            let tree = try tx.createTree(named: "large", keys: .integer)
            for key in UInt64(0)..<20 { try tx.put(ValueShape(bytes: 9000).value(seed: key), for: key, in: tree) }
            return tree
        }
        let kept = try sample.store.snapshot()
        var first = try kept.cursor(in: sample.integers)
        var last = try kept.cursor(in: sample.bytes)
        var value = try kept.cursor(in: large)
        #expect(try first.first() && last.last() && value.first())
        let scan = try kept._leafScan(sample.integers, .integer, integer: 0, bytes: [])
        defer { scan._end() }
        kept.close()
        try sample.store.write { tx in
            try tx.dropTree(large)
            for key in UInt64(0)..<2000 { try tx.put([1, 2, 3], for: key, in: sample.integers) }
        }
        try sample.store.checkpoint()
        expect(.closed(path: sample.store.path)) { while try first.next() {} }
        expect(.closed(path: sample.store.path)) { while try last.previous() {} }
        expect(.closed(path: sample.store.path)) { _ = try value.value() }
        expect(.closed(path: sample.store.path)) { try value.withValue { _ in } }
        expect(.closed(path: sample.store.path)) { _ = try scan._advance() }
        // Its trees can still be named.
        #expect(kept.tree(named: "large") == large)
        expect(.closed(path: sample.store.path)) { _ = try kept.count(of: large) }
    }

    /// The superuser is denied nothing, so the error is made here.
    @Test(arguments: [("open", EACCES), ("create", EACCES), ("open", EROFS)])
    func theErrorOfADeniedFileHasTheRemedy(operation: String, code: Int32) {
        let denied = StorageError.io(FileError(operation: operation, path: "d/s.mako-wal-2", code: code)).description
        #expect(denied.hasPrefix("\(operation) d/s.mako-wal-2: ") && denied.contains("writable directory"))
        #expect(denied.contains("readOnly"))
        #expect(!"\(StorageError.io(FileError(operation: "read", path: "s", code: EIO)))".contains("readOnly"))
    }

    @Test func aReadOnlyStoreSaysSo() throws {
        let disk = SimulatedDisk()
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        let store = try Store(at: "d/s.mako", options: options)
        _ = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.close()
        options.readOnly = true
        let before = disk.callLog.filter(\.changesDisk).count
        let reader = try Store(at: "d/s.mako", options: options)
        expect(.readOnly(reason: "it was opened so")) { _ = try reader.beginWrite() }
        expect(.readOnly(reason: "it was opened so")) { try reader.checkpoint() }
        #expect(try !reader.step())
        #expect(try reader.verify().isClean)
        try reader.close()
        // Opening the file is all that such a store does to the disk.
        #expect(disk.callLog.filter(\.changesDisk).dropFirst(before).allSatisfy { $0 == .open })
        disk.setContents(of: "d/empty.mako", to: [])
        expect(.notADatabase(path: "d/empty.mako", reason: "it is empty")) {
            _ = try Store(at: "d/empty.mako", options: options)
        }
    }

    /// A snapshot cannot go while its own caller is inside it.
    @Test func closingInsideAReadWaitsForItsEnd() throws {
        let sample = try sample()
        let snapshot = try sample.store.snapshot()
        let value = try snapshot.withValue(of: 5, in: sample.integers) { bytes in
            snapshot.close()
            return [UInt8](bytes)
        }
        #expect(value == [5])
        #expect(try snapshot.get(5, in: sample.integers) == [5])
        snapshot.close()
        expect(.closed(path: sample.store.path)) { _ = try snapshot.get(5, in: sample.integers) }
    }

    /// Also a snapshot borrowed from a read.
    @Test func aSnapshotKeepsItsStore() throws {
        for isBorrowed in [false, true] {
            weak var store: Store?
            var kept: Snapshot?
            var tree: Tree?
            do {
                let sample = try sample()
                (store, tree) = (sample.store, sample.integers)
                kept = isBorrowed ? try sample.store.read { $0 } : try sample.store.snapshot()
            }
            try #require(store != nil)
            if let tree { #expect(try kept?.get(7, in: tree) == [7]) }
            kept = nil
            #expect(store == nil)
        }
    }

    @Test func moreSnapshotsThanTheFirstSlotsHold() throws {
        let sample = try sample()
        var kept: [Snapshot] = []
        for round in UInt64(0)..<300 {
            try sample.store.write { try $0.put([UInt8(round & 255), 7], for: 1, in: sample.integers) }
            kept.append(try sample.store.snapshot())
        }
        #expect(sample.store.stats.openSnapshots == 300)
        for (round, snapshot) in kept.enumerated() {
            #expect(try snapshot.get(1, in: sample.integers) == [UInt8(round & 255), 7])
        }
        kept = []
        #expect(sample.store.stats.openSnapshots == 0)
        #expect(try sample.store.verify().isClean)
    }

    @Test func verifyWaitsNoLongerThanItsTimeout() throws {
        let sample = try sample { $0.writerTimeout = .milliseconds(30) }
        let writer = try sample.store.beginWrite()
        expect(.writerTimeout(seconds: 0.03)) { _ = try sample.store.verify() }
        writer.rollback()
        #expect(try sample.store.verify().isClean)
        #expect(
            "\(StorageError.writerTimeout(seconds: 0.03))"
                == "another write transaction held the writer lock for more than 0.03 seconds")
    }

    /// Numbers that no store can have become ones that it can, or are refused.
    @Test(arguments: [Int.min, -1, 0, 1, 5000, 1 << 20, 1 << 33, 1 << 45, .max - 1, .max])
    func optionsMayBeAnyNumber(number: Int) throws {
        let changes: [(inout StoreOptions) -> Void] = [
            { $0.cacheBytes = number }, { $0.checkpointBytes = number }, { $0.logSegmentBytes = number },
        ]
        for (place, change) in changes.enumerated() {
            let files = MemoryFileSystem()
            var options = StoreOptions()
            options.fileSystem = files
            options.background = .manual
            change(&options)
            do {
                let store = try Store(at: "s.mako", options: options)
                // A segment is written whole before its first use, and these may be larger than memory.
                if place < 2 {
                    let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
                    for key in UInt64(0)..<50 { try store.write { try $0.put([1], for: key, in: tree) } }
                    for _ in 0..<20 { _ = try store.step() }
                }
                #expect(store.pipeline.largestLoggedBytes > 0 && store.pipeline.largestLoggedBytes <= Limits.valueBytes)
                try store.close()
                let again = try Store(at: "s.mako", options: options)
                #expect(try again.read { $0.trees.count } == (place < 2 ? 1 : 0))
                try again.close()
            } catch let error as StorageError {
                guard case .invalidArgument = error, place == 0 else { throw error }
            }
        }
    }

    #if os(Linux)
        /// Large values are passed as copies; a body that throws at the first must not leave the others in memory.
        @Test func valuesThatABodyNeverSeesAreNotKept() throws {
            struct Enough: Error {}
            let store = try Store.inMemory()
            let tree = try store.write { tx in
                let tree = try tx.createTree(named: "t", keys: .integer)
                for key in UInt64(0)..<16 {
                    try tx.put([UInt8](repeating: UInt8(key), count: 256 << 10), for: key, in: tree)
                }
                return tree
            }
            let before = try residentBytes()
            try store.read { view in
                for _ in 0..<300 {
                    #expect(throws: Enough.self) {
                        try view.withValues(of: Array(0..<16), in: tree) { _, _ in throw Enough() }
                    }
                }
            }
            // All copies together have 1.2 GB.
            #expect(try residentBytes() - before < 600 << 20)
        }

        private func residentBytes() throws -> Int {
            let file = try POSIXFileSystem().open("/proc/self/statm", .readOnly)
            defer { file.close() }
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = try bytes.withUnsafeMutableBytes { buffer throws(FileError) in
                try file.read(into: buffer, at: 0)
            }
            let words = String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: " ")
            return try #require(words.count > 1 ? Int(words[1]) : nil) * 4096
        }
    #endif
}

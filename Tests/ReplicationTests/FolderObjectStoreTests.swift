import Foundation
import MakoReplication
import MakoStorage
import MakoTestSupport
import Testing

/// Objects as files of a folder.
@Suite final class FolderObjectStoreTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "mako-objects-\(UInt64.random(in: .min ... .max))"
    ).path

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    @Test func objectsBehaveAsThoseOfOtherStores() throws {
        try ObjectStoreContract.check(try FolderObjectStore(at: folder))
    }

    @Test func aLargeObjectIsWrittenInPieces() throws {
        let objects = try FolderObjectStore(at: folder)
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let tag = try objects.put("a/b/2", ObjectContent(bytes), .ifAbsent)
        #expect(try objects.get("a/b/2", nil) == ObjectBytes(bytes: bytes, tag: tag, total: 3_000_000))
        #expect(try objects.get("a/b/2", 2_999_999..<4_000_000).bytes == [bytes[2_999_999]])
    }

    /// A disk that is not mounted must not be taken for an empty folder on another one.
    @Test func theDirectoryOfANewFolderMustExist() throws {
        for path in [folder + "-not/é b", folder + "-not/é b//"] {
            #expect(
                throws: ObjectStoreError.setup(.noDirectory, reason: "there is no directory \(folder)-not")
            ) { try FolderObjectStore(at: path) }
        }
        #expect(!FileManager.default.fileExists(atPath: folder + "-not"))
        _ = try FolderObjectStore(at: folder + "//")
    }

    @Test func contentThatBreaksOffLeavesNothing() throws {
        let objects = try FolderObjectStore(at: folder)
        let broken = ObjectContent(bytes: 5 << 20) { offset, count throws(ObjectStoreError) in
            if offset > 2 << 20 { throw .source("the source broke off") }
            return [UInt8](repeating: 1, count: count)
        }
        #expect(throws: ObjectStoreError.source("the source broke off")) { try objects.put("a", broken, .ifAbsent) }
        #expect(try objects.list("", after: nil, limit: 9) == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/.mako-unfinished") == [])
    }

    @Test func whatACrashLeftIsRemovedAndNeverShown() throws {
        _ = try FolderObjectStore(at: folder)
        let left = folder + "/.mako-unfinished/0123456789abcdef"
        _ = FileManager.default.createFile(atPath: left, contents: Data([1, 2]))
        let objects = try FolderObjectStore(at: folder)
        #expect(try objects.list("", after: nil, limit: 9) == [])
        #expect(!FileManager.default.fileExists(atPath: left))
    }

    @Test func foldersOfOtherFilesAndOtherNamesAreRefused() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        _ = FileManager.default.createFile(atPath: folder + "/letter.txt", contents: Data([1]))
        #expect(throws: ObjectStoreError.self) { try FolderObjectStore(at: self.folder) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["letter.txt"])
        #expect(throws: ObjectStoreError.self) { try FolderObjectStore(at: self.folder + "/letter.txt") }
        try FileManager.default.removeItem(atPath: folder + "/letter.txt")
        let objects = try FolderObjectStore(at: folder)
        for name in ["", "/a", "a/", "a//b", "../a", "a/../b", ".a", "A", "a b", "ä", "a\n"] {
            #expect(throws: ObjectStoreError.invalidName(name)) {
                try objects.put(name, ObjectContent([1]), .ifAbsent)
            }
        }
        // What appears in the folder later is no object.
        _ = FileManager.default.createFile(atPath: folder + "/.DS_Store", contents: Data([1]))
        _ = FileManager.default.createFile(atPath: folder + "/Letter", contents: Data([1]))
        #expect(try objects.list("", after: nil, limit: 9) == [])
    }

    @Test func aDatabaseIsShippedToAFolderAndRestoredFromThere() throws {
        let objects = try FolderObjectStore(at: folder)
        let ledger = try Ledger(seed: 61)
        let replicator = try Replicator(ledger.store, to: objects, prefix: "apps/ledger")
        var states: [UInt64: LedgerState] = [:]
        for _ in 0..<12 {
            try ledger.commitAtRandom()
            states[try replicator.ship().commit] = ledger.state
        }
        let replica = try Replica(try FolderObjectStore(at: folder), prefix: "apps/ledger")
        for (commit, state) in states {
            let path = "\(folder)-\(commit).mako"
            defer { try? FileManager.default.removeItem(atPath: path) }
            try replica.restore(to: path, at: commit, beginsBranch: false)
            let store = try Store(at: path)
            #expect(try LedgerState(reading: store) == state)
            try store.close()
        }
    }
}

import Foundation
import MakoTestSupport
import Testing

@testable import MakoStorage

/// Permissions, symbolic links and descriptors of a real file system.
@Suite struct FileAccessTests {
    private let folder = NSTemporaryDirectory() + "mako-access-\(UInt64.random(in: 0...UInt64.max))"

    private func inFolder(_ body: () throws -> Void) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body()
    }

    private var path: String { folder + "/s.mako" }

    private func options(_ files: any FileSystem = POSIXFileSystem()) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.logSegmentBytes = 32 << 10
        return options
    }

    private func put(_ key: UInt64, _ store: Store) throws {
        try store.write { tx in
            let tree = try tx.view.tree(named: "t") ?? tx.createTree(named: "t", keys: .integer)
            try tx.put([UInt8](repeating: 1, count: 3000), for: key, in: tree)
        }
    }

    private func permissions(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? -1
    }

    private func setPermissions(_ permissions: Int, _ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }

    private func isLink(_ path: String) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil
    }

    // MARK: Permissions

    @Test(arguments: [0o600, 0o640, 0o664])
    func everyFileOfADatabaseHasItsPermissions(wanted: Int) throws {
        try inFolder {
            try Data().write(to: URL(fileURLWithPath: path))
            try setPermissions(wanted, path)
            var store = try Store(at: path, options: options())
            #expect(try permissions(path) == wanted, "an empty file that became a database")
            for key in 0..<60 { try put(UInt64(key), store) }
            while try store.step() {}
            let logs = try POSIXFileSystem().list(directory: folder).filter { $0.contains("-wal-") }
            #expect(logs.count > 1)
            for log in logs { #expect(try permissions(folder + "/" + log) == wanted, "\(log)") }
            try store.backup(to: folder + "/backup")
            try put(100, store)
            try store.backup(to: folder + "/part", since: BackupPoint(of: folder + "/backup"))
            try store.copy(to: folder + "/copy")
            try store.close()
            try Store.restore(
                folder + "/backup", applying: [folder + "/part"], to: folder + "/restored", options: options())
            _ = try Store.salvage(from: path, to: folder + "/salvaged", options: options())
            for name in ["backup", "part", "copy", "restored", "salvaged"] {
                #expect(try permissions(folder + "/" + name) == wanted, "\(name)")
            }
            try Store.compact(at: path, options: options())
            #expect(try permissions(path) == wanted, "compacted")
            if Encryption.isAvailable {
                let key = Encryption.key([UInt8](repeating: 3, count: 32))
                try Store.compact(at: path, options: options(), encryption: key)
                #expect(try permissions(path) == wanted, "encrypted")
                var encrypted = options()
                encrypted.encryption = key
                try Store.compact(at: path, options: encrypted, encryption: nil)
                #expect(try permissions(path) == wanted, "decrypted")
            }
            // Files of the log that are used again follow the database.
            store = try Store(at: path, options: options())
            for key in 0..<60 { try put(UInt64(key), store) }
            try setPermissions(0o600, path)
            try store.checkpoint()
            for key in 0..<60 { try put(UInt64(key), store) }
            try store.checkpoint()
            for key in 0..<60 { try put(UInt64(key), store) }
            let newest = LogFile.segmentPath(path, store.pipeline.log.newestSegment)
            #expect(try permissions(newest) == 0o600)
            try store.close()
        }
    }

    @Test func thePermissionsOfAGroupAreNotForAnotherGroup() {
        #expect(FileAccess(permissions: 0o660, owner: 1, group: 1).permissionsOfOtherGroup == 0o600)
        #expect(FileAccess(permissions: 0o664, owner: 1, group: 1).permissionsOfOtherGroup == 0o644)
        #expect(FileAccess(permissions: 0o640, owner: 1, group: 1).permissionsOfOtherGroup == 0o600)
        #expect(FileAccess(permissions: 0o666, owner: 1, group: 1).permissionsOfOtherGroup == 0o666)
        #expect(FileAccess(permissions: 0o604, owner: 1, group: 1).permissionsOfOtherGroup == 0o604)
        #expect(FileAccess(permissions: 0o444, owner: 1, group: 1).forNewFile.permissions == 0o644)
    }

    // MARK: Symbolic links

    @Test func aDatabaseIsWhereItsLinkLeads() throws {
        try inFolder {
            let far = folder + "/far"
            let link = folder + "/link.mako"
            let second = folder + "/second.mako"
            try FileManager.default.createDirectory(atPath: far, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "far/s.mako")
            try FileManager.default.createSymbolicLink(atPath: second, withDestinationPath: link)
            // Its target does not exist yet.
            let store = try Store(at: second, options: options())
            #expect(store.path == far + "/s.mako")
            try put(1, store)
            #expect(try POSIXFileSystem().list(directory: far).contains { $0.hasPrefix("s.mako-wal-") })
            #expect(throws: StorageError.alreadyOpen(path: far + "/s.mako")) {
                _ = try Store(at: link, options: options())
            }
            try store.close()
            try Store.compact(at: link, options: options())
            if Encryption.isAvailable {
                let key = Encryption.key([UInt8](repeating: 3, count: 32))
                try Store.compact(at: second, options: options(), encryption: key)
                var encrypted = options()
                encrypted.encryption = key
                try Store.compact(at: link, options: encrypted, encryption: nil)
            }
            #expect(isLink(link) && isLink(second))
            let again = try Store(at: link, options: options())
            #expect(try again.read { try $0.count(of: #require($0.tree(named: "t"))) } == 1)
            // New files follow a link, too.
            let place = folder + "/backup-link"
            try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: "far/backup")
            try again.backup(to: place)
            #expect(isLink(place) && POSIXFileSystem().exists(far + "/backup"))
            do {
                try again.backup(to: place)
                Issue.record("a backup was written over another one")
            } catch { #expect("\(error)".contains("exists already")) }
            try again.close()
            #expect(try POSIXFileSystem().list(directory: far) == ["backup", "s.mako"])
        }
    }

    @Test func linksThatLeadInCirclesAreAnError() throws {
        try inFolder {
            try FileManager.default.createSymbolicLink(atPath: folder + "/a", withDestinationPath: "b")
            try FileManager.default.createSymbolicLink(atPath: folder + "/b", withDestinationPath: "a")
            #expect(throws: StorageError.self) { _ = try Store(at: folder + "/a", options: options()) }
            #expect(try POSIXFileSystem().list(directory: folder) == ["a", "b"])
        }
    }

    // MARK: Names

    @Test func renamingExclusivelyReplacesNothing() throws {
        try inFolder {
            let files = POSIXFileSystem()
            for name in ["/a", "/b"] {
                let file = try files.open(folder + name, .create)
                try writeBytes(file, Array(name.utf8), count: 2, at: 0)
                file.close()
            }
            let file = try files.open(folder + "/a", .readOnly)
            #expect(try file.isNamed(folder + "/a") && !file.isNamed(folder + "/b") && !file.isNamed(folder + "/c"))
            do throws(FileError) {
                try files.renameExclusively(folder + "/a", to: folder + "/b")
                Issue.record("it was renamed")
            } catch { #expect(error.isExists) }
            try files.renameExclusively(folder + "/a", to: folder + "/c")
            #expect(try file.isNamed(folder + "/c") && !file.isNamed(folder + "/a"))
            try files.rename(folder + "/b", to: folder + "/c")
            #expect(try !file.isNamed(folder + "/c"))
        }
    }

    // MARK: Descriptors

    /// A file system that fails with EMFILE while `isShort` is set.
    private final class ScarceFiles: PassingFileSystem, @unchecked Sendable {
        let inner: any FileSystem = POSIXFileSystem()
        // Used by one thread.
        var isShort = false

        private func check(_ operation: String, _ path: String) throws(FileError) {
            if isShort { throw FileError(operation: operation, path: path, code: EMFILE) }
        }

        func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any MakoStorage.File {
            try check("open", path)
            return try inner.open(path, mode)
        }

        func openDirectory(_ path: String) throws(FileError) -> any FileDirectory {
            try check("sync directory", path)
            return try inner.openDirectory(path)
        }

        func syncDirectory(_ path: String) throws(FileError) { try openDirectory(path).sync() }
    }

    @Test func aProcessWithoutDescriptorsLosesOneTransactionAndNotTheStore() throws {
        try inFolder {
            let files = ScarceFiles()
            let store = try Store(at: path, options: options(files))
            for key in 0..<3 { try put(UInt64(key), store) }
            files.isShort = true
            var refused = 0
            // Until the segment is full this takes no descriptor; then a new file is needed.
            for key in 3..<40 { do { try put(UInt64(key), store) } catch { refused += 1 } }
            #expect(refused > 0 && refused < 37)
            #expect(store.stats.readOnlyReason == nil)
            files.isShort = false
            try put(50, store)
            try store.close()
            let again = try Store(at: path, options: options())
            #expect(try again.read { try $0.count(of: #require($0.tree(named: "t"))) } == UInt64(41 - refused))
            try again.close()
        }
    }

    /// The name of a log file is made durable in a directory that is open since the store is.
    @Test func aCommitNeedsNoDescriptorForTheDirectory() throws {
        try inFolder {
            let files = ScarceDirectories()
            let store = try Store(at: path, options: options(files))
            files.isShort = true
            for key in 0..<30 { try put(UInt64(key), store) }
            try store.close()
            let again = try Store(at: path, options: options())
            #expect(try again.read { try $0.count(of: #require($0.tree(named: "t"))) } == 30)
            try again.close()
        }
    }

    private final class ScarceDirectories: PassingFileSystem, @unchecked Sendable {
        let inner: any FileSystem = POSIXFileSystem()
        var isShort = false

        func openDirectory(_ path: String) throws(FileError) -> any FileDirectory {
            if isShort { throw FileError(operation: "sync directory", path: path, code: EMFILE) }
            return try inner.openDirectory(path)
        }

        func syncDirectory(_ path: String) throws(FileError) { try openDirectory(path).sync() }
    }
}

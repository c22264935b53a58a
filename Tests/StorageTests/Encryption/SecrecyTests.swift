import MakoStorage
import MakoTestSupport
import Testing

/// No file contains user data in plain text: all writes are searched for every eight bytes of it.
@Suite(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) struct SecrecyTests {
    private static let path = "d/store.mako"

    /// Looks for pieces of secrets in everything that is written.
    private final class Search: @unchecked Sendable {
        private let lock = Lock()
        // Guarded by `lock`.
        private var pieces: Set<UInt64> = []
        private var found: [String: Int] = [:]
        private var searched = 0

        func add(_ secret: [UInt8]) {
            lock.withLock {
                secret.withUnsafeBytes { bytes in
                    for place in 0...max(0, bytes.count - 8) where bytes.count >= 8 {
                        pieces.insert(bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                    }
                }
            }
        }

        func look(_ path: String, _ bytes: UnsafeRawBufferPointer) {
            lock.withLock {
                searched += bytes.count
                guard bytes.count >= 8 else { return }
                for place in 0...bytes.count - 8 {
                    let piece = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                    if piece != 0, pieces.contains(piece) { found[path, default: 0] += 1 }
                }
            }
        }

        var result: (found: [String: Int], searched: Int) { lock.withLock { (found, searched) } }
    }

    private static func secret(_ number: UInt64, _ bytes: Int = 40) -> [UInt8] {
        ValueShape(bytes: bytes).value(seed: number)
    }

    private static func name(_ number: UInt64) -> String {
        String(secret(number, 16).flatMap { String($0, radix: 16) })
    }

    /// Uses everything that writes, and answers where pieces of it were found.
    private static func run(_ encryption: Encryption?) throws -> (found: [String: Int], searched: Int) {
        let search = Search()
        for number in UInt64(1)...400 { search.add(secret(number)) }
        for number in UInt64(1000)...1003 { search.add(secret(number, 9000)) }
        for number in UInt64(2000)...2001 { search.add(secret(number, 80_000)) }
        for number in UInt64(3000)...3002 { search.add(Array(name(number).utf8)) }
        let packed = [UInt8](repeating: 0, count: 4).flatMap { _ in secret(4000, 2000) }
        search.add(secret(4000, 2000))
        try SimulatedDisk.$watcher.withValue({ path, bytes, _ in search.look(path, bytes) }) {
            let disk = SimulatedDisk()
            var options = EncryptionTests.options(disk, encryption)
            options.cacheBytes = 256 << 10
            let store = try Store(at: path, options: options)
            try store.write { tx in
                let integers = try tx.createTree(named: name(3000), keys: .integer)
                let texts = try tx.createTree(named: name(3001), keys: .bytes)
                for number in UInt64(1)...50 { try tx.put(secret(number), for: number, in: integers) }
                for number in UInt64(51)...100 { try tx.put(secret(number), for: secret(number + 100), in: texts) }
            }
            try store.checkpoint()
            for number in UInt64(201)...300 {
                try store.write { tx in
                    let tree = try tx.view.tree(named: name(3000)) ?? tx.createTree(named: name(3000), keys: .integer)
                    try tx.put(secret(number), for: number, in: tree)
                }
            }
            let base = try store.backup(to: "d/base.mako")
            #expect(base.bytes > 0)
            try store.write { tx in
                guard let tree = tx.view.tree(named: name(3000)), let texts = tx.view.tree(named: name(3001)) else {
                    return
                }
                try tx.put(secret(1000, 9000), for: 9000, in: tree)
                try tx.put(packed, for: 9001, in: tree)
                // Longer than what the log takes: the pages are written before the commit.
                try tx.put(secret(2000, 80_000), for: 9002, in: tree)
                try tx.putBlob(for: 9003, in: tree) { blob in try blob.append(secret(2001, 80_000)) }
                for number in UInt64(301)...400 { try tx.put(secret(number), for: secret(number), in: texts) }
                _ = try tx.createTree(named: name(3002), keys: .bytes)
            }
            // Without a checkpoint between: pages that only memory has, too.
            try store.backup(
                to: "d/part", since: BackupPoint(of: "d/base.mako", encryption: encryption, fileSystem: disk))
            try store.backup(to: "d/whole.mako")
            try store.copy(to: "d/copy.mako")
            // Segments of the log that serve again, and the one that is made ahead.
            for round in 0..<30 {
                try store.write { tx in
                    guard let tree = tx.view.tree(named: name(3000)) else { return }
                    try tx.put(secret(1001, 9000), for: 9000, in: tree)
                    try tx.put(secret(UInt64(1 + round)), for: 9005, in: tree)
                }
                for _ in 0..<4 { _ = try store.step() }
            }
            if let encryption { try store.changeKey(to: encryption) }
            // Without closing: recovery writes as well.
            disk.endProcess()
            let again = try Store(at: path, options: options)
            #expect(try again.verify().isClean)
            try again.shrink()
            try again.close()
            try Store.restore("d/base.mako", applying: ["d/part"], to: "d/restored.mako", options: options)
            try Store.compact(at: path, options: options)
            _ = try Store.salvage(from: path, to: "d/salvaged.mako", options: options)
        }
        return search.result
    }

    /// Proves that the search finds plain text in every kind of file.
    @Test func plainFilesAreFoundOut() throws {
        let (found, _) = try SecrecyTests.run(nil)
        for kind in ["wal", "base", "part", "whole", "copy", "salvage"] {
            #expect(found.keys.contains { $0.contains(kind) }, "nothing in \(kind): \(found)")
        }
        #expect(found.keys.contains(SecrecyTests.path))
    }

    @Test(arguments: Encryption.Cipher.allCases) func encryptedFilesShowNothing(cipher: Encryption.Cipher) throws {
        let (found, searched) = try SecrecyTests.run(TestKeys.encryption(0, cipher))
        #expect(found.isEmpty, "\(found)")
        #expect(searched > 1 << 20, "\(searched)")
    }

    @Test func secretsAreNotShown() {
        let key = Encryption.key(Array("0123456789abcdef0123456789abcdef".utf8))
        var options = StoreOptions()
        options.encryption = .passphrase("open sesame")
        var dumped = ""
        dump(options, to: &dumped)
        dump(key, to: &dumped)
        #expect(!"\(options) \(key) \(String(reflecting: key)) \(dumped)".contains("sesame"))
        // The key's first byte, as an element of an array would be shown.
        #expect(!dumped.contains("- 48\n"))
        #expect("\(key)" == "Encryption(key, aesGCM)")
    }
}

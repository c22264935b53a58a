import MakoStorage
import MakoTestSupport

/// Opens damaged files, uses what can be read, and reports what no damage excuses.
///
/// Where no checksum was forged, the content must be a state that the database went through. Where some were, that
/// cannot be checked; but if `verify` finds nothing, the content must be a sorted map that can be read from end to end.
struct FileTrial {
    var sample: FileSample
    var use: FileUse
    var isForged: Bool

    /// The fault, nil for none. Errors that name a damage of the files are right results.
    func run(_ image: DiskImage) -> String? {
        let disk = SimulatedDisk(image)
        // A forged header may ask for log segments of gigabytes.
        if isForged { disk.capacity = 8 << 20 }
        var wasReadable = false
        do {
            let store = try open(disk)
            var expected = try contents(of: store)
            if let expected, !isForged, !sample.states.contains(expected) { return "a state that never was" }
            wasReadable = expected != nil
            if use.contains(.writing), !use.contains(.readOnly) {
                try write(store, &expected)
                if !use.contains(.openingAgain), let wrong = try difference(store, from: expected) { return wrong }
            }
            try store.close()
            guard use.contains(.openingAgain) else { return nil }
            let again = try open(disk)
            defer { try? again.close() }
            return try difference(again, from: expected)
        } catch let error as StorageError {
            if error.description.isEmpty { return "an error without a word" }
            return wasReadable && !isForged ? "everything could be read, but then: \(error)" : nil
        } catch {
            return "\(error)"
        }
    }

    private func open(_ disk: SimulatedDisk) throws -> Store {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 5)
        options.cacheBytes = 1 << 18
        options.readOnly = use.contains(.readOnly)
        return try Store(at: ScriptRun.path, options: options)
    }

    /// Everything that is there; nil where a part of it cannot be read, which `verify` then has found, too.
    private func contents(of store: Store) throws -> ModelStore? {
        let isClean = try store.verify().isClean
        do {
            return try store.read { try ModelStore(reading: $0) }
        } catch {
            if isClean { throw Disagreement("verify found nothing, but reading did: \(error)") }
            return nil
        }
    }

    /// Where everything could be read before, everything can be read afterwards, with the expected content.
    private func difference(_ store: Store, from expected: ModelStore?) throws -> String? {
        guard let found = try contents(of: store), let expected, !isForged else {
            return expected == nil || isForged ? nil : "after writing or opening again a part cannot be read"
        }
        return found.difference(from: expected).map { "after writing or opening again: \($0)" }
    }

    /// Puts, deletes and a checkpoint.
    private func write(_ store: Store, _ model: inout ModelStore?) throws {
        try store.write { transaction in
            for info in transaction.view.trees {
                for number in stride(from: UInt64(2), to: 40, by: 9) {
                    let value = [UInt8](repeating: UInt8(number), count: Int(number) * 40)
                    let key: ModelKey
                    switch info.tree.keys {
                    case .integer:
                        key = .integer(number)
                        try transaction.put(value, for: number, in: info.tree)
                        _ = try transaction.delete(number + 1, in: info.tree)
                        _ = model?.delete(.integer(number + 1), in: info.name)
                    case .bytes:
                        let bytes = ScriptRun.bytes(number, length: 30)
                        let next = ScriptRun.bytes(number + 1, length: 30)
                        key = .bytes(bytes)
                        try transaction.put(value, for: bytes, in: info.tree)
                        _ = try transaction.delete(next, in: info.tree)
                        _ = model?.delete(.bytes(next), in: info.name)
                    }
                    model?.put(value, for: key, in: info.name)
                }
            }
        }
        try store.checkpoint()
    }
}

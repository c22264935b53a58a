import Foundation
import MakoReplication

/// Objects in this process: what shipping costs the writer alone, without a server that uses the same processors and the same disk.
final class MemoryObjects: ObjectStore, @unchecked Sendable {
    private let lock = NSLock()
    // Guarded by `lock`.
    private var objects: [String: [UInt8]] = [:]

    func put(
        _ name: String, _ content: ObjectContent, _ condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectTag {
        let bytes = try content.read(from: 0, count: Int(content.bytes))
        let isNew = lock.withLock {
            if condition == .ifAbsent && objects[name] != nil { return false }
            objects[name] = bytes
            return true
        }
        guard isNew else { throw .exists(name: name) }
        return ObjectTag("")
    }

    func get(_ name: String, _ range: Range<UInt64>?) throws(ObjectStoreError) -> ObjectBytes {
        guard let bytes = lock.withLock({ objects[name] }) else { throw .notFound(name: name) }
        let part = range.map { Array(bytes[Int($0.lowerBound)..<min(Int($0.upperBound), bytes.count)]) }
        return ObjectBytes(bytes: part ?? bytes, tag: ObjectTag(""), total: UInt64(bytes.count))
    }

    func list(_ prefix: String, after name: String?, limit: Int) throws(ObjectStoreError) -> [String] {
        let names = lock.withLock { objects.keys.filter { $0.hasPrefix(prefix) && $0 > name ?? "" } }
        return Array(names.sorted().prefix(limit))
    }

    func delete(_ name: String) throws(ObjectStoreError) { _ = lock.withLock { objects.removeValue(forKey: name) } }
}

// Made by scripts/async-twins of the functions marked `// async`.

import MakoRecords

extension ObjectEntity {
    /// The async form of `referencing(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func referencing<T: Entity>(_ type: T.Type) async throws(MakoError) -> [T] {
        try await away { (receiver) throws(MakoError) in try receiver.referencing(type) }
    }

    /// The async form of `referencedCount()`. Runs on a thread outside Swift's cooperative pool.
    public func referencedCount() async throws(MakoError) -> Int {
        try await away { (receiver) throws(MakoError) in try receiver.referencedCount() }
    }
}

import Foundation
import MakoReplication
import MakoStorage

/// Follows until it is killed, or becomes the writer.
struct FollowerProcess {
    let life: Life
    let path: String
    let objects: LethalObjects
    /// When it becomes the writer, in seconds from the start of the process; nil for never.
    let promotion: Double?

    func run() throws -> Never {
        let end = promotion.map { Date().addingTimeInterval($0) }
        var options = Follower.Options()
        options.checkpointBytes = 100 << 10
        options.store = Workload.options()
        let follower = try open(options)
        Word.following.say()
        var reader: Store? = try Store(at: path, options: Workload.options(readOnly: true))
        var seen = Contents()
        while end.map({ Date() < $0 }) ?? true {
            _ = try follower.follow()
            if let reader {
                try reader.refresh()
                let contents = try Contents(reading: reader)
                guard contents.history.starts(with: seen.history) else {
                    throw Failure("a reader that had \(seen.history.count) transactions has others now")
                }
                seen = contents
                Word.durable.say(UInt64(seen.history.count))
            }
            Thread.sleep(forTimeInterval: 0.003)
        }
        try reader?.close()
        reader = nil
        Word.promoting.say()
        let store = try follower.promote(options: Workload.options())
        Word.promoted.say(UInt64(try Contents(reading: store).history.count))
        try WriterProcess(life: life, path: path, objects: objects).write(store)
    }

    /// Waits for the first backup.
    private func open(_ options: Follower.Options) throws -> Follower {
        while true {
            do throws(ReplicationError) { return try Follower(objects, at: path, options: options) } catch {
                switch error {
                case .noDatabase, .noRestorePoint, .noBranch: Thread.sleep(forTimeInterval: 0.005)
                default: throw error
                }
            }
        }
    }
}

/// Restores the newest commit again and again.
struct RestoringProcess {
    let path: String
    let objects: LethalObjects

    func run() throws -> Never {
        var latest = 0
        while true {
            try? FileManager.default.removeItem(atPath: path)
            do throws(ReplicationError) {
                try Replica(objects).restore(to: path, beginsBranch: false, options: Workload.options())
            } catch {
                switch error {
                case .noDatabase, .noRestorePoint, .noBranch:
                    Thread.sleep(forTimeInterval: 0.005)
                    continue
                default: throw error
                }
            }
            let store = try Store(at: path, options: Workload.options(readOnly: true))
            let contents = try Contents(reading: store)
            try store.close()
            guard contents.history.count >= latest else {
                throw Failure("\(contents.history.count) transactions, and \(latest) before")
            }
            latest = contents.history.count
            Word.restored.say(UInt64(latest))
        }
    }
}

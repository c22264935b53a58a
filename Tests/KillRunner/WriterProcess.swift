import Foundation
import MakoStorage

/// The process that is killed: every thread commits without end, and prints each commit on standard output once it has
/// returned.
struct WriterProcess {
    let path: String

    func run() throws -> Never {
        let store = try Store(at: path, options: Workload.options())
        try store.write { transaction in
            for thread in 0..<Workload.threads where transaction.view.tree(named: Workload.tree(of: thread)) == nil {
                _ = try transaction.createTree(
                    named: Workload.tree(of: thread), keys: thread % 2 == 0 ? .integer : .bytes)
            }
            for name in [Workload.counters, Workload.journal] where transaction.view.tree(named: name) == nil {
                _ = try transaction.createTree(named: name, keys: .integer)
            }
        }
        let threads = try (0..<Workload.threads).map { thread in
            try startThread(name: Workload.tree(of: thread)) {
                do {
                    while true { try commit(thread, store) }
                } catch {
                    FileHandle.standardError.write(Data("thread \(thread): \(error)\n".utf8))
                    exit(3)
                }
            }
        }
        for thread in threads { thread.join() }
        exit(3)
    }

    private func commit(_ thread: Int, _ store: Store) throws {
        let number = try store.write(durability: Workload.durabilities[thread]) { transaction in
            let view = transaction.view
            guard let tree = view.tree(named: Workload.tree(of: thread)),
                let counters = view.tree(named: Workload.counters), let journal = view.tree(named: Workload.journal)
            else { throw StorageError.invalidArgument("a tree is missing") }
            let number = Workload.number(try view.get(UInt64(thread), in: counters)) + 1
            for (key, value) in Workload.changes(thread: thread, number: number) {
                switch (tree.keys, value) {
                case (.integer, let value?): try transaction.put(value, for: key, in: tree)
                case (.integer, nil): _ = try transaction.delete(key, in: tree)
                case (.bytes, let value?): try transaction.put(value, for: Workload.word(key), in: tree)
                case (.bytes, nil): _ = try transaction.delete(Workload.word(key), in: tree)
                }
            }
            let head = Workload.number(try view.get(Workload.head, in: counters)) + 1
            try transaction.put(Workload.word(number), for: UInt64(thread), in: counters)
            try transaction.put(Workload.word(head), for: Workload.head, in: counters)
            try transaction.put(Workload.entry(thread: thread, number: number), for: head, in: journal)
            if head > Workload.journalLength {
                _ = try transaction.delete(head - Workload.journalLength, in: journal)
            }
            return number
        }
        FileHandle.standardOutput.write(Data("\(thread) \(number)\n".utf8))
    }
}

import Foundation
import MakoCore
import MakoStorage

/// A child forked from a process with an open store: its calls are refused, and releasing the store leaves the parent's
/// files unchanged.
struct ForkTrial {
    private typealias Fork = @convention(c) () -> Int32

    let folder: String

    /// Swift does not offer the call: most programs have threads, and the child has only one of them.
    private static func fork() throws -> Int32 {
        #if canImport(Darwin)
            let anywhere = UnsafeMutableRawPointer(bitPattern: -2)
        #else
            let anywhere: UnsafeMutableRawPointer? = nil
        #endif
        guard let symbol = dlsym(anywhere, "fork") else { throw Referee.Failure(description: "there is no fork here") }
        return unsafeBitCast(symbol, to: Fork.self)()
    }

    func run() throws {
        let path = folder + "/forked.mako"
        var options = StoreOptions()
        options.logSegmentBytes = 64 << 10
        let parent = try Store(at: path, options: options)
        let tree = try parent.write { try $0.createTree(named: "t", keys: .integer) }
        try parent.write { try $0.put([1], for: 1, in: tree) }
        let transaction = try parent.beginWrite()
        try transaction.put([9], for: 9, in: tree)
        let snapshot = try parent.snapshot()
        var cursor = try snapshot.cursor(in: tree)
        guard try cursor.first() else { throw Referee.Failure(description: "the tree is empty") }
        try ForkTrial.child("reads and writes what was open before") {
            try ForkTrial.refused(path) { _ = try snapshot.get(1, in: tree) }
            try ForkTrial.refused(path) { _ = try snapshot.count(of: tree) }
            try ForkTrial.refused(path) { _ = try cursor.next() }
            try ForkTrial.refused(path) { _ = try transaction.view.get(9, in: tree) }
            try ForkTrial.refused(path) { try transaction.put([8], for: 8, in: tree) }
            try ForkTrial.refused(path) { _ = try transaction.delete(1, in: tree) }
            try ForkTrial.refused(path) { _ = try transaction.createTree(named: "u", keys: .integer) }
            snapshot.close()
        }
        guard try snapshot.get(1, in: tree) == [1] else { throw Referee.Failure(description: "the parent reads anew") }
        snapshot.close()
        try readerOfTheParent(parent, tree)
        try threadsThatBegin(parent, tree)
        try ForkTrial.child("commits a transaction of before") {
            try ForkTrial.refused(path) { try transaction.commitKeepingLock(durability: nil, isShown: true) }
        }
        try transaction.commit()
        try ForkTrial.child("calls") {
            try ForkTrial.refused(path) { try parent.write { try $0.put([2], for: 2, in: tree) } }
            try ForkTrial.refused(path) { _ = try parent.snapshot() }
            try ForkTrial.refused(path) { _ = try parent.beginWrite() }
            try ForkTrial.refused(path) { try parent.checkpoint() }
            try ForkTrial.refused(path) { _ = try parent.backup(to: path + "-copy") }
            try ForkTrial.refused(path) { _ = try parent.verify() }
            guard try !parent.step() else { throw Referee.Failure(description: "it does work for its parent") }
            // The file is locked by the parent still, whatever the child has closed.
            do {
                _ = try Store(at: path, options: options)
                throw Referee.Failure(description: "it opened what its parent has open")
            } catch StorageError.alreadyOpen {}
        }
        try ForkTrial.child("closes") {
            try parent.close()
            do { try parent.write { try $0.put([2], for: 2, in: tree) } } catch StorageError.closed { return }
            throw Referee.Failure(description: "it wrote to a store that is closed")
        }
        guard ForkTrial.isLocked(path) else {
            throw Referee.Failure(description: "the child that closed gave up the lock of its parent")
        }
        try parent.write { try $0.put([3], for: 3, in: tree) }
        try grandchild(path, options)
        do {
            _ = try Store(at: path, options: options)
            throw Referee.Failure(description: "a child gave up the lock of its parent")
        } catch StorageError.alreadyOpen {}
        try parent.close()
        let again = try Store(at: path, options: options)
        let rows = try again.read { view in try view.count(of: tree) }
        guard rows == 3, try again.verify().isClean else {
            throw Referee.Failure(description: "\(rows) rows are there, not 3")
        }
        try again.close()
        print("forked, and nothing of the parent's touched")
    }

    /// Whether the file is locked, tested with a system call: the process itself knows which files it has open.
    private static func isLocked(_ path: String) -> Bool {
        #if canImport(Darwin)
            // Another kind of lock, which cannot be tested from here.
            return true
        #else
            let descriptor = open(path, O_RDWR | O_CLOEXEC)
            defer { close(descriptor) }
            return flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
        #endif
    }

    /// A store that only the child has references to ends there.
    private func grandchild(_ path: String, _ options: StoreOptions) throws {
        let other = path + "-other"
        var store: Store? = try Store(at: other, options: options)
        try store?.write { _ = try $0.createTree(named: "t", keys: .integer) }
        let before = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        try ForkTrial.child("lets go") { store = nil }
        guard ForkTrial.isLocked(other) else {
            throw Referee.Failure(description: "the child that let go gave up the lock of its parent")
        }
        guard try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == before else {
            throw Referee.Failure(description: "a store that ended in the child removed files of its parent's")
        }
        try store?.write { _ = try $0.createTree(named: "u", keys: .integer) }
        try store?.close()
        let again = try Store(at: other, options: options)
        guard try again.snapshot().trees.count == 2 else { throw Referee.Failure(description: "a commit is lost") }
        try again.close()
    }

    /// A reader of the parent's that is in the middle of a value does not keep the child from using a store of its own.
    private func readerOfTheParent(_ parent: Store, _ tree: Tree) throws {
        let (isInside, mayEnd, hasEnded) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        Thread.detachNewThread {
            do {
                _ = try parent.read { view in
                    try view.withValue(of: 1, in: tree) { _ in
                        isInside.signal()
                        mayEnd.wait()
                    }
                }
            } catch {}
            hasEnded.signal()
        }
        isInside.wait()
        defer {
            mayEnd.signal()
            hasEnded.wait()
        }
        let other = folder + "/child.mako"
        try ForkTrial.child("has a store of its own") {
            let store = try Store(at: other)
            let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
            try store.write { try $0.put([1], for: 1, in: tree) }
            let view = try store.snapshot()
            guard try view.get(1, in: tree) == [1] else { throw Referee.Failure(description: "it lost its own") }
            // Waits for readers that began before.
            view.close()
            try store.close()
        }
    }

    /// Threads of the parent that are in the middle of their first call do not keep the child from its own.
    private func threadsThatBegin(_ parent: Store, _ tree: Tree) throws {
        for _ in 0..<40 {
            let group = DispatchGroup()
            for _ in 0..<16 {
                group.enter()
                Thread.detachNewThread {
                    do { _ = try parent.read { view in try view.get(1, in: tree) } } catch {}
                    group.leave()
                }
            }
            defer { group.wait() }
            try ForkTrial.child("begins beside threads that begin") {
                let store = try Store.inMemory()
                let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
                guard try store.read({ view in try view.count(of: tree) }) == 0 else {
                    throw Referee.Failure(description: "a new tree has entries")
                }
                try store.close()
            }
        }
    }

    static func refused(_ path: String, _ body: () throws -> Void) throws {
        if try !isRefused(path, body) { throw Referee.Failure(description: "a call of the child was not refused") }
    }

    /// Whether a call fails because the store is the parent's. Its other errors are thrown.
    static func isRefused(_ path: String, _ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return false
        } catch StorageError.inherited(path) {
            return true
        } catch MakoError.storage(.inherited(path)) {
            return true
        }
    }

    /// Runs `body` in a child, and waits for it.
    static func child(_ what: String, _ body: () throws -> Void) throws {
        fflush(nil)
        let child = try ForkTrial.fork()
        if child == 0 {
            do {
                try body()
                _exit(0)
            } catch {
                FileHandle.standardError.write(Data("the child that \(what): \(error)\n".utf8))
                _exit(1)
            }
        }
        var status: Int32 = 0
        for _ in 0..<3000 {
            let ended = waitpid(child, &status, WNOHANG)
            if ended == child {
                guard status == 0 else {
                    throw Referee.Failure(description: "the child that \(what) failed: \(status)")
                }
                return
            }
            usleep(10_000)
        }
        _ = kill(child, SIGKILL)
        _ = waitpid(child, &status, 0)
        throw Referee.Failure(description: "the child that \(what) does not end")
    }
}

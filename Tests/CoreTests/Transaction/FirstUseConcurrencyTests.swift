import Dispatch
import Foundation
import MakoCore
import MakoStorage
import MakoTestSupport
import Testing

/// The first use of a type by a commit that waits for nothing.
@Suite struct FirstUseConcurrencyTests {
    private func open(_ disk: GatedDisk) throws -> Database {
        var storage = StoreOptions()
        storage.fileSystem = disk
        return try Database(
            at: "d/world.mako", entities: [Country.self], options: DatabaseOptions(storage: storage))
    }

    @Test func aNotifiedTypeCanBeRead() throws {
        let disk = GatedDisk()
        let db = try open(disk)
        let notified = Guarded<[String]>([])
        let note = { @Sendable (text: String) in notified.withLock { $0.append(text) } }
        let token = try City.onChange(in: db) { _ in
            do { note("\(try db.query(City.self).count())") } catch { note("\(error)") }
        }
        disk.close()
        let done = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            // Every later commit is published after this one.
            do { try db.transaction { _ in try db.set("FR", 68) } } catch { note("\(error)") }
            done.signal()
        }
        while disk.waiting == 0 { Thread.sleep(forTimeInterval: 0.001) }
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(50)) { disk.open() }
        try db.transaction(durability: .async) { _ in try db.save(City(name: "Rome")) }
        #expect(try db.query(City.self).fetch().map(\.name) == ["Rome"])
        done.wait()
        #expect(notified.withLock { $0 } == ["1"])
        token.cancel()
        try db.close()
    }

    @Test func aFirstUseThatChangesNothingDoesNotWait() throws {
        let disk = GatedDisk()
        let written = try open(disk)
        try written.save(City(name: "Rome"))
        try written.close()
        let db = try open(disk)
        let count = try db.transaction(durability: .async) { _ in try db.query(City.self).count() }
        #expect(count == 1)
        try db.close()
    }
}

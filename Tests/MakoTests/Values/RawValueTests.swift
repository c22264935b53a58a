import Mako
import MakoTestSupport
import TestHelpers
import Testing

enum Raw {
    /// A struct whose raw value can become one that its initialiser refuses.
    struct Percent: RawRepresentable, Sendable, Equatable {
        var rawValue: Int
        init?(rawValue: Int) {
            guard (0...100).contains(rawValue) else { return nil }
            self.rawValue = rawValue
        }
        init(beyond rawValue: Int) { self.rawValue = rawValue }
    }
    /// The same, as a type that conforms by its raw value.
    struct Share: RawRepresentable, StorableValue {
        var rawValue: Int
        init?(rawValue: Int) {
            guard (0...100).contains(rawValue) else { return nil }
            self.rawValue = rawValue
        }
        init(beyond rawValue: Int) { self.rawValue = rawValue }
    }
    enum Level: Int, Sendable { case low, high }
    enum Size: RawRepresentable, Sendable, Equatable {
        case none
        case some(Int)
        var rawValue: Int { if case .some(let number) = self { number } else { 0 } }
        init?(rawValue: Int) {
            guard rawValue < 10 else { return nil }
            self = rawValue == 0 ? .none : .some(rawValue)
        }
    }
    struct Days: OptionSet, Sendable { let rawValue: UInt8 }

    @Entity final class Tank {
        var full: Percent = Percent(beyond: 0)
        var spare: Percent?
        var share: Share = Share(beyond: 0)
        var level: Level = Level.low
        var size: Size = Size.none
        var days: Days = Days(rawValue: 0)
    }
    @Entity final class Vault {
        @Attribute(.encrypted) var full: Percent?
    }
}

/// Values that are stored as their raw values.
@Suite struct RawValueTests {
    private func refuses(_ property: String, _ reason: String, _ body: () throws -> Void) -> Bool {
        do { try body() } catch MakoError.unstorableValue(_, nil, let found, let why) {
            return found == property && why == reason
        } catch {}
        return false
    }

    @Test func rawValuesThatTheInitialiserRefusesAreNotStored() throws {
        let db = try makeDatabase([Raw.Tank.self])
        let tank = Raw.Tank()
        tank.full.rawValue = 120
        #expect(refuses("full", "120, which is stored for it, is no Percent") { try db.save(tank) })
        tank.full.rawValue = 80
        tank.spare = Raw.Percent(beyond: -1)
        #expect(refuses("spare", "-1, which is stored for it, is no Percent") { try db.save(tank) })
        tank.spare = nil
        tank.share.rawValue = 101
        #expect(refuses("share", "101, which is stored for it, is no Share") { try db.save(tank) })
        tank.share.rawValue = 100
        tank.size = .some(11)
        #expect(refuses("size", "11, which is stored for it, is no Size") { try db.save(tank) })
        #expect(try db.query(Raw.Tank.self).count() == 0)
        tank.size = .some(9)
        tank.level = .high
        tank.days = Raw.Days(rawValue: 5)
        try db.save(tank)
        let read = try #require(try db.query(Raw.Tank.self).first())
        #expect(read.full.rawValue == 80 && read.spare == nil && read.share.rawValue == 100)
        #expect(read.size == .some(9) && read.level == .high && read.days == Raw.Days(rawValue: 5))
    }

    @Test func updatesRefuseThemToo() throws {
        let db = try makeDatabase([Raw.Tank.self])
        try db.save(Raw.Tank())
        #expect(
            refuses("full", "120, which is stored for it, is no Percent") {
                try db.update(Raw.Tank.self).set(\.full, to: Raw.Percent(beyond: 120)).run()
            })
        try db.update(Raw.Tank.self).set(\.full, to: Raw.Percent(beyond: 20)).run()
        #expect(try db.query(Raw.Tank.self).first()?.full.rawValue == 20)
    }

    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption"))
    func encryptedOnesAreCheckedToo() throws {
        let options = DatabaseOptions(propertyKey: .key([UInt8](repeating: 1, count: 32)))
        let db = try Database.inMemory(entities: [Raw.Vault.self], options: options)
        let vault = Raw.Vault(full: Raw.Percent(beyond: 120))
        #expect(refuses("full", "120, which is stored for it, is no Percent") { try db.save(vault) })
        vault.full = Raw.Percent(beyond: 3)
        try db.save(vault)
        #expect(try db.query(Raw.Vault.self).first()?.full?.rawValue == 3)
    }
}

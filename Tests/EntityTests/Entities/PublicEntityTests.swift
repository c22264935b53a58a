import Foundation
import Mako
import Testing

public enum PassState: String, Sendable { case open, shut }

/// A public type whose default values use what is not public, by `Self` and by its own name.
@Entity public struct Pass {
    static let first = PassState.open
    public var `default`: PassState = Self.first
    public var titles: [String] = [Self.first.rawValue, "b"]
    public var note: Optional<String>
    private var uses: [Int] = []

    public var count: Int { uses.count }
    public mutating func use() { uses.append(count) }
}

@Entity public class Badge {
    static let start = "s"
    public var title: String = Badge.start
    private var level = 1

    public var rank: Int { level }
    public func raise() { level += 1 }
}

@Entity public final class HeavyBadge: Badge {
    static let usual = 2.5
    public var weight: Double = HeavyBadge.usual
}

/// What is generated for public types compiles, and keeps their default values and private properties.
@Suite struct PublicEntityTests {
    @Test func aStructKeepsItsDefaultsAndPrivateProperties() throws {
        let db = try Database.inMemory()
        var pass = Pass()
        #expect(pass.default == .open && pass.titles == ["open", "b"] && pass.note == nil)
        pass.use()
        try db.save(&pass)
        let read = try #require(try db.query(Pass.self).first())
        #expect(read.count == 1 && read.titles == ["open", "b"] && read.default == .open)
        #expect(Pass(default: .shut).titles == pass.titles)
    }

    @Test func aSubclassKeepsThoseOfItsSuperclass() throws {
        let db = try Database.inMemory()
        let badge = HeavyBadge(weight: 1)
        badge.title = "x"
        badge.raise()
        try db.save([badge, HeavyBadge()])
        let badges = try db.query(HeavyBadge.self).orderBy(\.weight).fetch()
        #expect(badges.map(\.weight) == [1, 2.5])
        #expect(badges.map(\.title) == ["x", "s"])
        #expect(badges.map(\.rank) == [2, 1])
    }
}

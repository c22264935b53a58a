// What the embedded standard library does not have, as far as the sources mention it. Only the signatures matter here.

public protocol Codable {}
public protocol CodingKey {}

public protocol CustomReflectable {
    var customMirror: Mirror { get }
}

public struct Mirror {
    init<Subject, Child>(_ subject: Subject, children: [String: Child]) {}
    init<Subject>(_ subject: Subject, children: [Int]) {}
}

public protocol InstantProtocol: Comparable, Hashable, Sendable {
    func advanced(by duration: Duration) -> Self
    func duration(to other: Self) -> Duration
}

public protocol Clock<Duration>: Sendable {
    associatedtype Duration
    associatedtype Instant: InstantProtocol
    var now: Instant { get }
}

public struct ContinuousClock: Clock {
    public struct Instant: InstantProtocol {
        public static var now: Instant { Instant() }
        public func advanced(by duration: Swift.Duration) -> Instant { self }
        public func duration(to other: Instant) -> Swift.Duration { .zero }
        public static func < (left: Instant, right: Instant) -> Bool { false }
        public static func + (left: Instant, right: Swift.Duration) -> Instant { left }
        public static func - (left: Instant, right: Instant) -> Swift.Duration { .zero }
    }

    public typealias Duration = Swift.Duration
    public static var now: Instant { Instant() }
    public var now: Instant { Instant() }
}

extension String {
    func replacing(_ other: String, with replacement: String) -> String { self }
}

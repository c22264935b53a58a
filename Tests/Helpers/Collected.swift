import Foundation

/// Values that handlers on any thread collect.
package final class Collected<T: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var values: [T] = []

    package init() {}

    package func append(_ value: T) {
        lock.lock()
        defer { lock.unlock() }
        values.append(value)
    }

    package var all: [T] {
        lock.lock()
        defer { lock.unlock() }
        return values
    }
}

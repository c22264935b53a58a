import CPlatform

private let chosen: [UInt8] = getenv("MAKO_SABOTAGE").map { Array(String(cString: $0).utf8) } ?? []

/// Whether the bug of this name was chosen by the environment variable `MAKO_SABOTAGE`.
package func sabotaged(_ bug: StaticString) -> Bool {
    bug.utf8CodeUnitCount == chosen.count && bug.withUTF8Buffer { $0.elementsEqual(chosen) }
}

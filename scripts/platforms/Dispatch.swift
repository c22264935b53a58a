// What Dispatch has on Apple systems alone. Compiled with the layer that uses it, since the module itself is the toolchain's.
import Dispatch

protocol DispatchSourceMemoryPressure: DispatchSourceProtocol {
    var data: DispatchSource.MemoryPressureEvent { get }
}

extension DispatchSource {
    struct MemoryPressureEvent: OptionSet, Sendable {
        let rawValue: UInt
        static let normal = MemoryPressureEvent(rawValue: 1)
        static let warning = MemoryPressureEvent(rawValue: 2)
        static let critical = MemoryPressureEvent(rawValue: 4)
    }

    static func makeMemoryPressureSource(
        eventMask: MemoryPressureEvent, queue: DispatchQueue?
    ) -> any DispatchSourceMemoryPressure { fatalError("declared for the compiler alone") }
}

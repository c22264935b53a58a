// The parts of AppKit that Mako's bridges use.
@_exported import Foundation

open class NSColorSpace {
    public static var extendedSRGB: NSColorSpace { NSColorSpace() }
    init() {}
}

open class NSColor {
    public init(colorSpace: NSColorSpace, components: UnsafePointer<CGFloat>, count: Int) {}
    open func usingColorSpace(_ space: NSColorSpace) -> NSColor? { nil }
    open var redComponent: CGFloat { 0 }
    open var greenComponent: CGFloat { 0 }
    open var blueComponent: CGFloat { 0 }
    open var alphaComponent: CGFloat { 0 }
}

open class NSImage {
    public init?(data: Data) {}
    open var tiffRepresentation: Data? { nil }
}

open class NSBitmapImageRep {
    public enum FileType: UInt { case png = 4 }
    public struct PropertyKey: Hashable {}

    public init?(data: Data) {}
    open func representation(using type: FileType, properties: [PropertyKey: Any]) -> Data? { nil }
}

// The parts of the Objective-C runtime that Mako uses.
public func class_getSuperclass(_ type: AnyClass?) -> AnyClass? { nil }

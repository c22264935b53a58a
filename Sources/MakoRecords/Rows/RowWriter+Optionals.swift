// Values that may be missing: none is NULL.
extension RowWriter {
    public mutating func set(_ position: Int, _ number: Int64?) {
        if let number { set(position, number) } else { setNull(position) }
    }

    public mutating func set(_ position: Int, _ number: UInt64?) {
        if let number { set(position, number) } else { setNull(position) }
    }

    public mutating func set(_ position: Int, _ number: Double?) {
        if let number { set(position, number) } else { setNull(position) }
    }

    public mutating func setDate(_ position: Int, _ seconds: Double?) {
        if let seconds { setDate(position, seconds) } else { setNull(position) }
    }

    public mutating func set(_ position: Int, _ flag: Bool?) {
        if let flag { set(position, flag) } else { setNull(position) }
    }

    public mutating func set(_ position: Int, _ text: String?) {
        if let text { set(position, text) } else { setNull(position) }
    }

    public mutating func set(_ position: Int, _ bytes: [UInt8]?) {
        if let bytes { set(position, bytes) } else { setNull(position) }
    }
}

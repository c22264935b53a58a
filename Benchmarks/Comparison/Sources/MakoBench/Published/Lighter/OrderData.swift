import Foundation

/// An order like those of the populated Northwind: fourteen columns, eight short texts and three dates as text among them; few are NULL.
struct OrderData {
    let orderID: Int
    let customerID: String
    let employeeID: Int
    let orderDate: String
    let requiredDate: String
    let shippedDate: String?
    let shipVia: Int
    let freight: Double
    let shipName: String
    let shipAddress: String
    let shipCity: String
    let shipRegion: String
    let shipPostalCode: String?
    let shipCountry: String

    init(number: Int) {
        let mixed = Mixer.mix(UInt64(number))
        // An order goes to one of 93 customers, whose address it repeats.
        let customer = Int(mixed % 93)
        let place = Int(Mixer.mix(UInt64(customer)) % 20)
        orderID = 10_248 + number
        customerID = OrderData.code(customer)
        employeeID = 1 + Int(mixed >> 8 % 9)
        let day = Int(mixed >> 16 % 4000)
        orderDate = OrderData.date(day, second: Int(mixed >> 24 % 86_400))
        requiredDate = OrderData.date(day + 28, second: Int(mixed >> 32 % 86_400))
        shippedDate = mixed % 761 == 0 ? nil : OrderData.date(day + 9, second: Int(mixed >> 40 % 86_400))
        shipVia = 1 + Int(mixed >> 48 % 3)
        freight = Double(mixed >> 20 % 200_000) / 4
        shipName = "\(OrderData.code(customer).capitalized) & Company, grocers"
        shipAddress = "\(1 + customer * 7) Harbour Street"
        shipCity = ["Aachen", "Bergamo", "Charleroi", "Lyon", "San Cristóbal", "Strasbourg", "Lander"][place % 7]
        shipRegion = ["Western Europe", "South America", "Southern Europe", "North America"][place % 4]
        shipPostalCode = customer % 31 == 0 ? nil : "\(10_000 + customer * 311)"
        shipCountry = ["Germany", "Italy", "Belgium", "France", "Venezuela", "USA"][place % 6]
    }

    private static func code(_ customer: Int) -> String {
        String((0..<5).map { Character(UnicodeScalar(UInt8(65 + (customer * (7 + $0) + $0 * 5) % 26))) })
    }

    private static func date(_ day: Int, second: Int) -> String {
        let (hour, minute) = (second / 3600, second / 60 % 60)
        return String(
            format: "%04d-%02d-%02d %02d:%02d:%02d", 2012 + day / 360, 1 + day / 30 % 12, 1 + day % 30, hour, minute,
            second % 60)
    }
}

/// The properties of every engine's order.
protocol OrderLike {
    var orderID: Int { get }
    var customerID: String? { get }
    var employeeID: Int? { get }
    var orderDate: String? { get }
    var requiredDate: String? { get }
    var shippedDate: String? { get }
    var shipVia: Int? { get }
    var freight: Double? { get }
    var shipName: String? { get }
    var shipAddress: String? { get }
    var shipCity: String? { get }
    var shipRegion: String? { get }
    var shipPostalCode: String? { get }
    var shipCountry: String? { get }
}

extension OrderLike {
    var checksum: UInt64 {
        let numbers = orderID &* 31 &+ (employeeID ?? -1) &* 17 &+ (shipVia ?? -1)
        var sum = UInt64(truncatingIfNeeded: numbers) &+ (freight ?? -1).bitPattern
        for text in [
            customerID, orderDate, requiredDate, shippedDate, shipName, shipAddress, shipCity, shipRegion,
            shipPostalCode,
            shipCountry,
        ] {
            sum = sum &* 31
            guard let text else { continue }
            for byte in text.utf8 { sum = sum &* 33 &+ UInt64(byte) }
        }
        return sum
    }
}
